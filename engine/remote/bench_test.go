package remote_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"golang.org/x/crypto/ssh"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshtest"
)

// BenchmarkDial measures a login, next to a bare handshake of the SSH library with the same server.
func BenchmarkDial(b *testing.B) {
	s := sshtest.Start(b, sshtest.Config{})
	b.Run("bare", func(b *testing.B) {
		config := &ssh.ClientConfig{
			User: "core", Auth: []ssh.AuthMethod{ssh.PublicKeys(s.Key)},
			HostKeyCallback: ssh.InsecureIgnoreHostKey(), HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
		}
		for b.Loop() {
			c, err := ssh.Dial("tcp", s.Addr(), config)
			if err != nil {
				b.Fatal(err)
			}
			_ = c.Close()
		}
	})
	b.Run("Dial", func(b *testing.B) {
		d := newDialer(b, remote.Options{})
		for b.Loop() {
			h, err := d.Dial(context.Background(), targetOf(s))
			if err != nil {
				b.Fatal(err)
			}
			_ = h.Close()
		}
	})
}

// BenchmarkRun measures one script on an open connection, next to a bare session that runs true.
func BenchmarkRun(b *testing.B) {
	s := sshtest.Start(b, sshtest.Config{})
	b.Run("bare", func(b *testing.B) {
		c, err := ssh.Dial("tcp", s.Addr(), &ssh.ClientConfig{
			User: "core", Auth: []ssh.AuthMethod{ssh.PublicKeys(s.Key)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
		})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		for b.Loop() {
			session, err := c.NewSession()
			if err == nil {
				err = session.Run("true")
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	h := connect(b, s)
	for _, size := range []int{1, 10_000, 100_000} {
		script := fmt.Sprintf(": %0*d", size, 0)
		b.Run(fmt.Sprintf("script=%d", size), func(b *testing.B) {
			for b.Loop() {
				mustRun(b, h, remote.Command{Script: script})
			}
		})
	}
	b.Run("become", func(b *testing.B) {
		for b.Loop() {
			mustRun(b, h, remote.Command{Script: ":", Become: true})
		}
	})
}

// BenchmarkStdin measures sending data to a script.
func BenchmarkStdin(b *testing.B) {
	h := connect(b, sshtest.Start(b, sshtest.Config{}))
	const size = 64 << 20
	b.SetBytes(size)
	for b.Loop() {
		mustRun(b, h, remote.Command{Script: "cat >/dev/null", Stdin: io.LimitReader(rand.NewChaCha8([32]byte{}), size)})
	}
}
