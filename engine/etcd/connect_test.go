package etcd

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestConnectFirst checks which attempts connectFirst begins and returns, and that no connection stays open but the one that it returns.
func TestConnectFirst(t *testing.T) {
	t.Parallel()
	var near, far net.Conn
	connect := func(_ context.Context, target string) attempt { return attempt{target: target, conn: near} }
	refuse := func(_ context.Context, target string) attempt {
		return attempt{target: target, err: errors.New("refused")}
	}
	silent := func(ctx context.Context, target string) attempt {
		<-ctx.Done()
		return attempt{target: target, err: ctx.Err()}
	}
	late := func(ctx context.Context, target string) attempt { // it connects at the moment when another address has
		<-ctx.Done()
		return connect(ctx, target)
	}
	type try = func(context.Context, string) attempt
	var begun chan struct{}
	slow := func(ctx context.Context, target string) attempt { // it connects after the second address was tried
		<-begun
		return connect(ctx, target)
	}
	var end context.CancelFunc
	endless := func(ctx context.Context, target string) attempt { // the time of the caller ends meanwhile
		end()
		return silent(ctx, target)
	}
	for _, c := range []struct {
		name  string
		a, b  try
		pause time.Duration
		want  string // the targets that failed, and the one that connected; or another outcome after "|", if two answers may cross
	}{
		{"the first", connect, nil, time.Hour, "a "},
		{"the first is refused", refuse, connect, time.Hour, "a! b "},
		{"the first is refused, no pause", refuse, connect, 0, "a! b "},
		{"the first is silent", silent, connect, time.Millisecond, "b "},
		{"both are refused", refuse, refuse, time.Hour, "a! b! "},
		{"the first is late", late, connect, time.Millisecond, "b "},
		{"the second is refused", slow, refuse, time.Millisecond, "b! a |a "},
		{"the second is silent", slow, silent, time.Millisecond, "a "},
		{"silent until the end, no pause", endless, nil, 0, "a! "},
		{"both silent until the end", silent, endless, time.Millisecond, "a! b! "},
	} {
		near, far = net.Pipe()
		begun = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		end = cancel
		tried := connectFirst(ctx, []string{"a", "b"}, c.pause, func(ctx context.Context, target string) attempt {
			if target == "a" {
				return c.a(ctx, target)
			}
			close(begun)
			return c.b(ctx, target)
		})
		cancel()
		var got string
		for _, a := range tried {
			got += a.target + map[bool]string{true: "! ", false: " "}[a.err != nil]
		}
		if !slices.Contains(strings.Split(c.want, "|"), got) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		_ = near.Close()
		_ = far.Close()
	}
	near, far = net.Pipe()
	other, _ := net.Pipe()
	connectFirst(t.Context(), []string{"a", "b"}, time.Millisecond, func(ctx context.Context, target string) attempt {
		if target == "a" {
			return late(ctx, target)
		}
		return attempt{target: target, conn: other}
	})
	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the late connection is open: %v", err)
	}
}

// TestConnectFirstPanics checks that a panic of an attempt gets to the caller.
func TestConnectFirstPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	connectFirst(t.Context(), []string{"a"}, 0, func(context.Context, string) attempt { panic("broken") })
}
