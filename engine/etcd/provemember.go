package etcd

import (
	"context"
	_ "embed" // embeds a script
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sourcegraph/conc"
)

//go:embed sh/listener.sh
var listenerText string

// portListener is a process that listens on a port of a host, as root sees it there.
type portListener struct {
	uid     int
	address string // as the kernel prints it
	etcd    bool   // it is in the control group of a unit that root has made for etcd
	group   string // its control group; "-": not known
}

// portSockets are the sockets of a host that have a port.
type portSockets struct {
	listeners []portListener
	accounts  []int // of etcd's units
	others    bool  // there are sockets that do not listen
	read      bool  // the kernel has answered
}

func readListeners(output string) (h portSockets) {
	for line := range strings.Lines(output) {
		words := strings.Fields(line)
		switch {
		case len(words) == 1:
			h.others, h.read = h.others || words[0] == "other", h.read || words[0] == "read"
			continue
		case len(words) == 0:
			continue
		}
		uid, err := strconv.Atoi(words[1])
		switch {
		case err != nil:
		case words[0] == "account" && len(words) == 2:
			h.accounts = append(h.accounts, uid)
		case words[0] == "listener" && len(words) >= 5:
			h.listeners = append(h.listeners, portListener{uid, words[2], words[3] == "etcd", words[4]})
		}
	}
	return h
}

// isForwarded reports whether no process of the host can have answered: no socket has the port. Then a rule of root in the kernel
// forwards the connection, as to a container with a network of its own.
func (h portSockets) isForwarded() bool { return h.read && !h.others && len(h.listeners) == 0 }

// containerRule matches the control groups that container runtimes of root make. An account cannot put a process there.
var containerRule = regexp.MustCompile(`^/(kubepods(\.slice)?/|machine\.slice/libpod-|system\.slice/(docker|crio|cri-containerd|libpod|nerdctl)-|docker/|k8s\.io/)`)

// loopbackRule matches addresses of listeners that accept connections to 127.0.0.1, in the byte order of any host.
var loopbackRule = regexp.MustCompile(`^(0{8}|0{32}|0100007F|7F000001|0{16}(FFFF0000|0000FFFF)(0{8}|0100007F|7F000001))$`)

// checkListeners returns an error if a process that may answer in place of the member listens on the port. So may a process that no longer
// listens at the address of the connection.
func (h portSockets) checkListeners(port int, atLoopback bool) error {
	if err := h.findStranger(port); err != nil {
		return err
	}
	if !slices.ContainsFunc(h.listeners, func(l portListener) bool { return !atLoopback || loopbackRule.MatchString(l.address) }) {
		return fmt.Errorf("no process of the host listens on port %d there, and something has answered", port)
	}
	return nil
}

// findStranger returns an error if a process listens on the port that is neither root's, nor of etcd's account or unit, nor in a container
// of root.
func (h portSockets) findStranger(port int) error {
	for _, l := range h.listeners {
		if l.uid != 0 && !l.etcd && !slices.Contains(h.accounts, l.uid) && !containerRule.MatchString(l.group) {
			return fmt.Errorf("a process of the account with UID %d listens on port %d (control group %s), and nothing shows that it is etcd; "+
				"if it is not, stop it; if it is, run it in a system unit whose command is etcd, in a container of root, or with TLS", l.uid, port, printableText(l.group))
		}
	}
	return nil
}

// errOnlyLoopback is the error of an answer that anything on the host may have given.
var errOnlyLoopback = errors.New("only the loopback address of its host answers, where any account can listen")

// proveMember checks that the answers of a session are etcd's. A member with TLS has proven it by its certificate. Without TLS, its own
// word proves nothing: any account of the host can listen on a port that is free, and forward requests to another member. Only the host
// knows who listens there.
func (c *Cluster) proveMember(ctx context.Context, p Peer, s *session) error {
	var err error
	switch {
	case c.cfg.TLS != nil:
		return nil
	case p.RunScript != nil:
		err = c.proveBySockets(ctx, p, s)
	case s.loopback && hasOtherAddress(p):
		err = errOnlyLoopback
	}
	if err != nil {
		return fmt.Errorf("nobody knows whether etcd answers: the cluster has no TLS, and %w", err)
	}
	return nil
}

func (c *Cluster) proveBySockets(ctx context.Context, p Peer, s *session) error {
	found, err := c.cfg.readSockets(ctx, p, c.cfg.ClientPort)
	if err != nil {
		return err
	}
	if !found.isForwarded() {
		return found.checkListeners(c.cfg.ClientPort, s.loopback)
	}
	// The connection must still be there: a process of the host could have answered, and closed it before root looked.
	if _, err := s.Status(ctx, ""); err != nil {
		return fmt.Errorf("no process of the host has port %d, and the connection that something answered broke: %w", c.cfg.ClientPort, err)
	}
	return nil
}

// watchSilence calls ask, which asks a member. Without TLS, any account of the host can accept the connection and never answer. So after half
// of the time, or if ask fails, watchSilence also looks for such a process, and returns an error that names it. It returns nil if it finds none.
func (cfg Config) watchSilence(ctx context.Context, p Peer, ask func() error) (stranger error) {
	if cfg.TLS != nil || p.RunScript == nil {
		_ = ask() // the caller keeps the error
		return nil
	}
	half, cancel := shareTime(ctx, 2)
	defer cancel()
	answered, watch := make(chan error, 1), conc.WaitGroup{}
	watch.Go(func() {
		select {
		case err := <-answered:
			if err == nil {
				return
			}
		case <-half.Done():
		}
		if found, err := cfg.readSockets(ctx, p, cfg.ClientPort); err == nil {
			stranger = found.findStranger(cfg.ClientPort)
		}
	})
	answered <- ask()
	watch.Wait()
	return stranger
}

// readSockets returns the sockets of a host that have a port, as root sees them there.
func (cfg Config) readSockets(ctx context.Context, p Peer, port int) (portSockets, error) {
	output, err := p.RunScript(ctx, "port="+strconv.Itoa(port)+"\nunit="+cfg.unitWord()+"\n"+listenerText)
	if err != nil {
		return portSockets{}, err
	}
	return readListeners(output), nil
}

// unitRule matches names of units that need no quotes in a script. The inventory accepts no others.
var unitRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9:_.@-]*$`)

func (cfg Config) unitWord() string {
	if unitRule.MatchString(cfg.Unit) {
		return cfg.Unit
	}
	return ""
}

// hasOtherAddress reports whether the inventory has an address of the host besides its loopback.
func hasOtherAddress(p Peer) bool {
	return p.Address != "" && p.Address != "127.0.0.1" && p.Address != "localhost"
}
