package lab

import (
	"context"
	"reflect"

	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

// Dir is the folder that holds the lab.
func (l *Lab) Dir() string { return l.dir }

// Has says whether the lab consists of exactly this.
func (l *Lab) Has(s spec.Spec) bool { return reflect.DeepEqual(l.state.Spec, s) }

// Prepare installs the tools and builds the image, which takes minutes the
// first time, without bringing anything up.
func (l *Lab) Prepare(ctx context.Context) error {
	unlock, err := l.lockLab(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := image.InstallTools(ctx, l.log); err != nil {
		return err
	}
	return l.imageStore().Build(ctx)
}

// Quiet ends the messages about what takes time.
func (l *Lab) Quiet() { l.log = func(string, ...any) {} }
