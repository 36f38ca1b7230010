package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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
	for _, c := range []struct {
		name          string
		first, second try
		pause         time.Duration
		want          string // the targets that failed, and the one that connected
	}{
		{"the first", connect, nil, time.Hour, "a"},
		{"the first is refused", refuse, connect, time.Hour, "a! b"},
		{"the first is refused, no pause", refuse, connect, 0, "a! b"},
		{"the first is silent", silent, connect, time.Millisecond, "b"},
		{"both are refused", refuse, refuse, time.Hour, "a! b!"},
		{"the first is late", late, connect, time.Millisecond, "b"},
		{"the second is refused", late, refuse, time.Millisecond, "b! a"},
		{"silent until the end, no pause", silent, nil, 0, "a!"},
		{"both silent until the end", silent, silent, time.Millisecond, "a! b!"},
	} {
		near, far = net.Pipe()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		tried := connectFirst(ctx, []string{"a", "b"}, c.pause, func(ctx context.Context, target string) attempt {
			if target == "a" {
				return c.first(ctx, target)
			}
			return c.second(ctx, target)
		})
		cancel()
		var got string
		for _, a := range tried {
			mark := ""
			if a.err != nil {
				mark = "!"
			}
			got += fmt.Sprintf("%s%s ", a.target, mark)
		}
		if got != c.want+" " {
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
