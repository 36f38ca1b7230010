package simulator

import (
	"context"
	"errors"
	"time"
)

// Get asks the web server of the test.
func (b *Bastion) Get(ctx context.Context, url string) (status int, body []byte, err error) {
	err = b.deliverCall(ctx, Call{Verb: "get"}, func(time.Time) error {
		if b.Answer == nil {
			return errors.New("connection refused")
		}
		s, text := b.Answer(url)
		status, body = s, []byte(text)
		return nil
	})
	return status, body, err
}
