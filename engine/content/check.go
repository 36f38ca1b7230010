package content

import (
	"context"
	"fmt"

	"holdfast/engine"
)

// CheckContent returns an error if the mirror cannot serve this content: there is no mirror, the content is not complete,
// or parts that a host would fetch are damaged. It reads until the context ends, and then returns nil.
func (s *Server) CheckContent(ctx context.Context, c engine.Content) error {
	opened, err := s.openStore(c)
	if err == nil {
		_, err = s.findSize(ctx, opened, c)
	}
	if err == nil {
		err = opened.verifyContent(ctx, c)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (s repositoryStore) verifyContent(ctx context.Context, c engine.Content) error {
	damaged, err := s.FindDamaged(ctx, c.Commit, c.Have)
	if err == nil && len(damaged) > 0 {
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
