package content

import (
	"context"
	"fmt"

	"holdfast/engine"
)

// CheckComplete returns an error if there is no mirror, or if it lacks parts of this content. It compares no contents. If
// the context ends before, the error wraps its cause.
func (s *Server) CheckComplete(ctx context.Context, c engine.Content) error {
	opened, err := s.openStore(c)
	if err == nil {
		_, err = s.findSize(ctx, opened, c)
	}
	return err
}

// VerifyContent reads the parts of a content that a host would fetch, and returns an error if one is damaged. If the
// context ends before, the error wraps the error of the context.
func (s *Server) VerifyContent(ctx context.Context, c engine.Content) error {
	opened, err := s.openStore(c)
	if err == nil {
		err = opened.verifyContent(ctx, c)
	}
	return err
}

func (s repositoryStore) verifyContent(ctx context.Context, c engine.Content) error {
	damaged, err := s.FindDamaged(ctx, c.Commit, c.Have)
	if len(damaged) > 0 {
		err = fmt.Errorf("%s of commit %s in the mirror %s is damaged; replace it with holdfast mirror --from URL", damaged[0].Path(), engine.ShortDigest(c.Commit), s.folder)
	}
	return err
}

func (s layoutStore) verifyContent(ctx context.Context, c engine.Content) error {
	image, err := s.readImage(ctx, c, true)
	if err == nil && len(image.Damaged) > 0 {
		err = fmt.Errorf("%s of image %s in the mirror %s is damaged; replace it with holdfast mirror --from docker://", image.Damaged[0].Path(), engine.ShortDigest(c.Image), s.folder)
	}
	return err
}
