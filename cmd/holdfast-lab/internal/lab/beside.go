package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"holdfast/cmd/holdfast-lab/internal/image"
)

// besideName is the folder with the labs beside this one.
const besideName = "beside"

// MakeBeside makes a number of labs beside this one, which has been prepared for these suites. Each has its own hosts, network
// and folder, and shares the files of the images. MakeBeside removes those that were there before. Down removes them, too.
func (l *Lab) MakeBeside(ctx context.Context, number int, suites []image.Suite) ([]*Lab, error) {
	unlock, err := l.lockLab(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := l.removeBeside(ctx); err != nil {
		return nil, err
	}
	var all []*Lab
	for i := range number {
		side, err := Open(l.path(besideName, strconv.Itoa(i+2)), l.log)
		if err != nil {
			return nil, err
		}
		if err := side.Claim(); err != nil {
			return nil, err
		}
		for _, suite := range suites {
			from := l.imageStore()
			from.Dir = l.path(imageName(suite))
			if err := from.Link(ctx, side.path(imageName(suite))); err != nil {
				return nil, err
			}
		}
		all = append(all, side)
	}
	return all, nil
}

func (l *Lab) removeBeside(ctx context.Context) error {
	entries, err := os.ReadDir(l.path(besideName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find labs beside this one: %w", err)
	}
	for _, e := range entries {
		side, err := Open(l.path(besideName, e.Name()), l.log)
		if err != nil {
			return err
		}
		if err := side.Down(ctx, true); err != nil {
			return err
		}
	}
	return image.Remove(l.path(besideName)) // a killed run may have left files of its own there
}
