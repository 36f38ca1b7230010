package remote

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// typist is a person who needs an hour to answer.
type typist struct{}

func (typist) Passphrase(context.Context, string) ([]byte, error) {
	time.Sleep(time.Hour) // in the fake time of synctest
	return []byte("open sesame"), nil
}

func (typist) BecomePassword(context.Context, string) ([]byte, error) { return nil, nil }

// TestPassphraseSlowly checks that the time for typing does not count towards the timeout of the host, and that the
// timeout continues afterwards.
func TestPassphraseSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text, err := os.ReadFile("testdata/locked")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		l := login{dialer: NewDialer(Options{Secrets: typist{}}), ctx: ctx, clock: startStopwatch(time.Second, func() { cancel(errLate) })}
		time.Sleep(400 * time.Millisecond)
		if _, err := l.unlockKey(&keyFile{path: "locked", pem: text, mu: make(chan struct{}, 1)}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		<-ctx.Done()
		if left := time.Since(began); left != 600*time.Millisecond {
			t.Errorf("%s were left", left)
		}
	})
}
