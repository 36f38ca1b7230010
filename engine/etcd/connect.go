package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine/etcd/certificate"
)

// listener describes a port on which the members listen.
type listener struct {
	port int
	tls  *credentials                                     // of the client; nil: no TLS
	note func(host string, presented []*x509.Certificate) // gets the certificates that members present; may be nil
}

// pauses is the number of pauses in the time of a gather: the second address of a member is tried a pause after the first, if that has not
// answered. A pause contains three round trips, so a far member needs no second connection.
const pauses = 10

// attempt is the result of connecting to a member at one address.
type attempt struct {
	target    string
	conn      net.Conn
	presented []*x509.Certificate
	err       error
}

// errNoResult is the error of an attempt that panicked.
var errNoResult = errors.New("it has no result")

// connectPeer connects to the member on p from the member's own host: to the loopback address, or to the host's address
// if the member listens only there. It returns the address, too.
//
// With TLS, a silent loopback address does not use up the time: any account of the host can listen there if the member does not. Without
// TLS, both addresses are never tried at once, because no certificate shows which of them is the member's.
func (cfg Config) connectPeer(ctx context.Context, p Peer, at listener, protocol string) (net.Conn, string, error) {
	var pause time.Duration
	if at.tls != nil {
		pause = cfg.gatherTimeout() / pauses
	}
	tried := connectFirst(ctx, memberAddresses(p, at), pause, func(ctx context.Context, target string) attempt {
		return at.connectTo(ctx, p, target, protocol)
	})
	var causes []error
	for _, a := range tried {
		if a.presented != nil && at.note != nil {
			at.note(p.Host, a.presented)
		}
		if a.err == nil {
			return a.conn, a.target, nil
		}
		causes = append(causes, a.err)
	}
	for _, err := range causes {
		if refused := (*certificate.Error)(nil); errors.As(err, &refused) {
			return nil, "", err // the member has answered, so the error of the other address does not matter
		}
	}
	return nil, "", joinDistinct(causes...)
}

// connectFirst tries the targets until one connects. It begins with the next one after all before it have failed, or after a pause (0:
// only after they have failed). It returns the failed attempts in the order of the targets, and then the one that connected. The others have
// ended by then.
func connectFirst(ctx context.Context, targets []string, pause time.Duration, try func(context.Context, string) attempt) []attempt {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running conc.WaitGroup
	ended, begun := make(chan attempt, len(targets)), 0
	begin := func() {
		a := attempt{target: targets[begun], err: errNoResult}
		begun++
		running.Go(func() {
			defer func() { ended <- a }()
			a = try(ctx, a.target)
		})
	}
	var failed, connected []attempt
	for len(failed) < len(targets) && len(connected) == 0 {
		if begun == len(failed) {
			if begun > 0 && ctx.Err() != nil {
				break
			}
			begin()
		}
		var late <-chan time.Time
		if begun < len(targets) && pause > 0 {
			late = time.After(pause)
		}
		select {
		case <-late:
			begin()
		case a := <-ended:
			if a.err == nil {
				connected = append(connected, a)
			} else {
				failed = append(failed, a)
			}
		}
	}
	cancel()
	running.Wait()
	close(ended)
	for a := range ended {
		if a.conn != nil { // it connected later
			_ = a.conn.Close() // nothing was written to it
		}
	}
	slices.SortFunc(failed, func(a, b attempt) int { return slices.Index(targets, a.target) - slices.Index(targets, b.target) })
	return append(failed, connected...)
}

func (at listener) connectTo(ctx context.Context, p Peer, target, protocol string) attempt {
	a := attempt{target: target}
	conn, err := p.Dial(ctx, "tcp", target)
	if err != nil {
		a.err = err
		return a
	}
	if at.tls == nil {
		a.conn = conn
		return a
	}
	secured := tls.Client(conn, at.tls.tlsFor(p, func(presented []*x509.Certificate) { a.presented = presented }, protocol))
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // err is the cause
		a.err = at.explainHandshake(ctx, p, target, err)
		return a
	}
	a.conn = secured
	return a
}

func (at listener) explainHandshake(ctx context.Context, p Peer, target string, err error) error {
	if ctx.Err() != nil {
		err = fmt.Errorf("connect to %s: it accepts connections but does not answer: %w", target, err)
	} else {
		err = fmt.Errorf("connect to %s: %w", target, err)
	}
	if certificate.HasAlert(err) {
		return at.tls.explainEnd(p.Host, err, err)
	}
	return err
}
