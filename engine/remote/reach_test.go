package remote_test

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshtest"
)

// TestCheckReach: a connection that somebody refuses has reached its address. One that nobody answers has not, unless the host itself does
// not answer. The errors are those of a real sshd.
func TestCheckReach(t *testing.T) {
	t.Parallel()
	system := func(e syscall.Errno) error { return &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", e)} }
	for name, x := range map[string]struct {
		end   error // of the connection; nil: it is open
		known bool
		want  string // "": reached
	}{
		"somebody listens":   {nil, true, ""},
		"nobody listens":     {system(syscall.ECONNREFUSED), true, ""},
		"rejected":           {system(syscall.EHOSTUNREACH), true, "no route to host"},
		"no network":         {system(syscall.ENETUNREACH), true, "network is unreachable"},
		"kernel gives up":    {system(syscall.ETIMEDOUT), true, "connection timed out"},
		"no name":            {errors.New("Temporary failure in name resolution"), true, "name resolution"},
		"without the reason": {errors.New("open failed"), false, "open failed"},
	} {
		s := sshtest.Start(t, sshtest.Config{Connect: func(string) (net.Conn, error) {
			near, far := net.Pipe()
			_ = far.Close()
			return near, x.end
		}})
		known, err := connect(t, s).CheckReach(t.Context(), "10.0.0.2:2380", time.Minute)
		if known != x.known || (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, %v", name, known, err)
		}
	}
	known, err := connect(t, sshtest.Start(t, sshtest.Config{NoForward: true})).CheckReach(t.Context(), "10.0.0.2:2380", time.Minute)
	if known {
		t.Error(err)
	}
	checkError(t, err, remote.Forward, "AllowTcpForwarding")
}

// TestCheckReachWithoutAnswer: a packet that is dropped is told from a host that has stopped answering.
func TestCheckReachWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, frozen := range []bool{false, true} {
		over := make(chan struct{})
		s := sshtest.Start(t, sshtest.Config{Connect: func(string) (net.Conn, error) {
			<-over
			return nil, errors.New("over")
		}})
		t.Cleanup(func() { close(over) })
		h := connect(t, s)
		h.AwaitRoundTrip(t.Context())
		limit := time.Second
		if frozen {
			s.Freeze()
			limit /= 20 // nothing is answered, however long it is
		}
		known, err := h.CheckReach(t.Context(), "10.0.0.2:2380", limit)
		if known == frozen || err == nil || !frozen && err.Error() != "no answer within 1s" {
			t.Errorf("frozen %v: %v, %v", frozen, known, err)
		}
	}
}
