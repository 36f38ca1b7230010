package lab

import (
	"context"
	"reflect"

	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

// Dir returns the folder of the lab.
func (l *Lab) Dir() string { return l.dir }

// Has reports whether the lab has exactly this spec, with hosts of a suite.
func (l *Lab) Has(s spec.Spec, suite image.Suite) bool {
	return reflect.DeepEqual(l.state.Spec, s) && l.Suite() == suite
}

// Prepare installs the tools and builds the image of a suite. It starts no hosts.
// The first time takes minutes.
func (l *Lab) Prepare(ctx context.Context, suite image.Suite) error {
	unlock, err := l.lockLab(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := image.InstallTools(ctx, l.log); err != nil {
		return err
	}
	store := l.imageStore()
	store.Dir, store.Suite = l.path(imageName(suite)), suite
	return l.buildImage(ctx, store)
}

// Quiet turns off the messages about slow steps.
func (l *Lab) Quiet() { l.log = func(string, ...any) {} }
