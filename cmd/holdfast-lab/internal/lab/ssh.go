package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"holdfast/cmd/holdfast-lab/internal/site"
	"holdfast/cmd/holdfast-lab/internal/spec"
	"holdfast/engine/clock"
)

// attemptTimeout limits each attempt to log in while WaitUp waits for a host, and qemuAttemptTimeout the same in qemu, whose
// processor is emulated.
const (
	attemptTimeout     = 3 * time.Second
	qemuAttemptTimeout = 20 * time.Second
)

// Run runs a shell script on the host as user core, over a new connection. A
// nonzero exit status is not an error. The exit status is -1 if the connection
// was lost before the script ended.
func (h *Host) Run(ctx context.Context, script string) (stdout, stderr string, code int, err error) {
	client, err := h.dialSSH(ctx)
	if err != nil {
		return "", "", -1, fmt.Errorf("run on %s: %w", h.Name, err)
	}
	defer func() { _ = client.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer stop()
	session, err := client.NewSession()
	if err != nil {
		return "", "", -1, fmt.Errorf("run on %s: %w", h.Name, err)
	}
	var out, errOut bytes.Buffer
	session.Stdout, session.Stderr = &out, &errOut
	err = session.Run(script)
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return out.String(), errOut.String(), exit.ExitStatus(), nil
	}
	if err != nil {
		return out.String(), errOut.String(), -1, fmt.Errorf("run on %s: %w", h.Name, errors.Join(err, ctx.Err()))
	}
	return out.String(), errOut.String(), 0, nil
}

// Output runs a script that must succeed. It returns stdout without surrounding
// white space.
func (h *Host) Output(ctx context.Context, script string) (string, error) {
	stdout, stderr, code, err := h.Run(ctx, script)
	if err != nil {
		return "", err
	}
	if code != 0 {
		return "", fmt.Errorf("run on %s: exit status %d: %s", h.Name, code, strings.TrimSpace(stderr))
	}
	return strings.TrimSpace(stdout), nil
}

func (h *Host) dialSSH(ctx context.Context) (*ssh.Client, error) {
	signer, err := ssh.ParsePrivateKey([]byte(h.lab.state.User.Private))
	if err != nil {
		return nil, fmt.Errorf("read ssh key: %w", err)
	}
	known, err := knownhosts.New(filepath.Join(h.lab.Site(), site.KnownHosts))
	if err != nil {
		return nil, fmt.Errorf("read known hosts: %w", err)
	}
	address := net.JoinHostPort(h.Address(), "22")
	conn, err := h.lab.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	c, channels, requests, err := ssh.NewClientConn(conn, address, &ssh.ClientConfig{
		User:              "core",
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback:   known,
		HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
	})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return ssh.NewClient(c, channels, requests), nil
}

// BootID returns the ID of the running boot.
func (h *Host) BootID(ctx context.Context) (string, error) {
	return h.Output(ctx, "cat /proc/sys/kernel/random/boot_id")
}

// WaitUp waits until the host answers with a boot ID other than old, which may be
// empty. It returns early if the host has ended.
func (h *Host) WaitUp(ctx context.Context, old string) error {
	limit := attemptTimeout
	if h.Machine == spec.Qemu {
		limit = qemuAttemptTimeout
	}
	for {
		attempt, cancel := context.WithTimeout(ctx, limit)
		id, err := h.BootID(attempt)
		cancel()
		if err == nil && id != old {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for %s: %w", h.Name, errors.Join(ctx.Err(), err))
		}
		if err := h.checkPower(ctx); err != nil {
			return fmt.Errorf("wait for %s: %w", h.Name, err)
		}
		if err := clock.Sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("wait for %s: %w", h.Name, err)
		}
	}
}

// Booted returns the commit and the version of the running deployment.
func (h *Host) Booted(ctx context.Context) (commit, version string, err error) {
	// The mount shows the deployment after a soft reboot, too. The kernel command line does not.
	const script = `. /etc/os-release; d=$(findmnt --noheadings --output FSROOT --target /etc)
d=${d##*/deploy/}; echo "${d%%/*}"; echo "$OSTREE_VERSION"`
	out, err := h.Output(ctx, script)
	if err != nil {
		return "", "", err
	}
	deployment, version, _ := strings.Cut(out, "\n")
	commit, _, _ = strings.Cut(deployment, ".")
	return commit, version, nil
}
