package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshtest"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTunnel(t *testing.T) {
	t.Parallel()
	h := connect(t, sshtest.Start(t, sshtest.Config{}))
	big := make([]byte, 4<<20)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(big)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, _ = w.Write(body)
		}
	}))
	defer web.Close()
	client := &http.Client{Transport: &http.Transport{DialContext: h.Dial}}
	defer client.CloseIdleConnections()
	for range 3 {
		r, err := client.Post(web.URL, "", bytes.NewReader(big))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil || !bytes.Equal(got, big) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
}

func TestTunnelRefused(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	s.Close()
	h := connect(t, sshtest.Start(t, sshtest.Config{}))
	_, err := h.Dial(context.Background(), "tcp", s.Addr())
	checkError(t, err, remote.Refused, "h1: connect to "+s.Addr()+" from the host")
	h = connect(t, sshtest.Start(t, sshtest.Config{NoForward: true}))
	_, err = h.Dial(context.Background(), "tcp", s.Addr())
	checkError(t, err, remote.Forward, "AllowTcpForwarding")
	_, err = h.Listen(context.Background(), "tcp", "127.0.0.1:0")
	checkError(t, err, remote.Forward, "AllowTcpForwarding")
	for _, addr := range []string{"0.0.0.0:0", ":80", "example.com:1", "127.0.0.1"} {
		_, err = h.Listen(context.Background(), "tcp", addr)
		checkError(t, err, remote.Config)
	}
}

func TestTunnelDeadline(t *testing.T) {
	t.Parallel()
	silent := sshtest.Start(t, sshtest.Config{Silent: true})
	h := connect(t, sshtest.Start(t, sshtest.Config{}))
	c, err := h.Dial(context.Background(), "tcp", silent.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if c.RemoteAddr().String() != silent.Addr() {
		t.Error(c.RemoteAddr())
	}
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "still open"); err != nil {
		t.Error(err)
	}
	_ = c.Close()
}

// TestTunnelFlush checks that data written before Close arrives.
func TestTunnelFlush(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	h := connect(t, sshtest.Start(t, sshtest.Config{}))
	data := strings.Repeat("0123456789", 300<<10)
	c, err := h.Dial(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var wg conc.WaitGroup
	wg.Go(func() {
		_, _ = io.WriteString(c, data)
		_ = c.Close()
	})
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(in)
	if string(got) != data || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	_ = in.Close()
	wg.Wait()
}

// TestListen checks that a web server behind a remote forward serves several
// requests on one connection.
func TestListen(t *testing.T) {
	t.Parallel()
	h := connect(t, sshtest.Start(t, sshtest.Config{}))
	l, err := h.Listen(context.Background(), "tcp", "127.9.8.7:0") // no other test listens on this address
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s over a forward", r.URL.Path)
	})}
	var wg conc.WaitGroup
	wg.Go(func() {
		if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	client := &http.Client{Transport: &http.Transport{}}
	for n := range 3 {
		r, err := client.Get(fmt.Sprintf("http://%s/%d", l.Addr(), n))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if want := fmt.Sprintf("/%d over a forward", n); string(body) != want || err != nil {
			t.Errorf("%q %v", body, err)
		}
	}
	client.CloseIdleConnections()
	if err := web.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	wg.Wait()
	// A process that another test starts has a copy of the socket until it has begun its program.
	for deadline := time.Now().Add(10 * time.Second); ; {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			break
		}
		_ = c.Close()
		if time.Now().After(deadline) {
			t.Fatal("the host still listens")
		}
	}
}

// TestCloseTunnels checks that Close ends tunnels and listeners that nobody
// reads.
func TestCloseTunnels(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	h := connect(t, s)
	c, err := h.Dial(context.Background(), "tcp", s.Addr()) // nobody reads the greeting
	if err != nil {
		t.Fatal(err)
	}
	l, err := h.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = h.Close()
	if _, err := io.ReadAll(c); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// TestPortWithoutAnswer checks that a host that sends other data, but does not answer a request to open or close a port,
// delays its caller only for a short time.
func TestPortWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, request := range []string{"tcpip-forward", "cancel-tcpip-forward"} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, sshtest.Config{Unanswered: request})
			h := dialTarget(t, newDialer(t, remote.Options{PortTimeout: 300 * time.Millisecond}), targetOf(s))
			l, err := h.Listen(context.Background(), "tcp", "127.0.0.1:0")
			if err == nil {
				_ = l.Close()
			}
			<-h.Done()
			if request == "tcpip-forward" {
				checkError(t, err, remote.Lost, "no answer within 300ms to the request to open a port")
			}
			_, err = h.Run(context.Background(), remote.Command{Script: "true"})
			checkError(t, err, remote.Lost, "no answer within ", " to the request to ")
		})
	}
}

// TestListenEndsWithItsContext checks that the caller need not wait for the host. A port that opens later is closed, and
// the connection stays.
func TestListenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.9.8.6:0") // no other test listens on this address
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	_ = free.Close()
	h := connect(t, sshtest.Start(t, sshtest.Config{Late: 100 * time.Millisecond}))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err = h.Listen(ctx, "tcp", addr)
	checkError(t, err, remote.Timeout)
	for deadline := time.Now().Add(20 * time.Second); ; {
		l, err := h.Listen(context.Background(), "tcp", addr)
		if err == nil {
			_ = l.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the port is still open: %v", err)
		}
	}
	mustRun(t, h, remote.Command{Script: "true"})
}

// TestUnclosedConnections checks that a host that opens connections, and does not close those that were closed here, loses
// its SSH connection before they fill the memory.
func TestUnclosedConnections(t *testing.T) {
	t.Parallel()
	h := connect(t, sshtest.Start(t, sshtest.Config{Unclosed: 1000}))
	l, err := h.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for c, err := l.Accept(); err == nil; c, err = l.Accept() {
		_ = c.Close()
		accepted++
	}
	<-h.Done()
	_, err = h.Run(context.Background(), remote.Command{Script: "true"})
	checkError(t, err, remote.Lost, "the host has not closed 256 connections of its ports")
	if accepted > 1+256 { // the server closed the first
		t.Errorf("%d connections were open", accepted)
	}
}
