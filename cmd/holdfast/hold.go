package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"
	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/rollout"
)

func (a *app) holdCommand() *cobra.Command {
	var reason, ticket, lasts string
	cmd := &cobra.Command{
		Use:   "hold HOST… --reason REASON",
		Short: "Keep hosts from being staged, written to or rebooted, for maintenance",
		Long: `hold puts a maintenance hold on hosts: until it is released, no run stages,
writes to or reboots them, and they count as unavailable for budgets and etcd
quorum. It never replaces a hold that is there. Whoever logs in to the host
sees who holds it and why.`,
		Example: `  holdfast hold worker-03 --reason "DIMM swap" --ticket OPS-17 --for 4h`,
		Args:    count(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return errors.New("hold: --reason is missing; whoever finds the host held needs to know why")
			}
			d, err := parseFor(lasts)
			if err != nil {
				return err
			}
			return a.hold(cmd.Context(), args, engine.Hold{Kind: engine.MaintenanceHold, Holder: holder(), Run: randomID(), Reason: reason, Ticket: ticket}, d)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why (required)")
	cmd.Flags().StringVar(&ticket, "ticket", "", "ticket the hold belongs to")
	cmd.Flags().StringVar(&lasts, "for", "", "how long it is expected to take (4h); a hold that has run out is reported, not ended")
	return cmd
}

func parseFor(s string) (engine.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := engine.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("hold: --for %q is not a duration such as 30m, 4h or 4d", s)
	}
	return d, nil
}

func randomID() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails, says its documentation
	return "m-" + hex.EncodeToString(b)
}

func (a *app) hold(ctx context.Context, names []string, h engine.Hold, lasts engine.Duration) error {
	s, err := a.open(ctx, names)
	if err != nil {
		return err
	}
	defer s.close()
	code := a.onHosts(ctx, s, func(host engine.Host) rollout.Script {
		return rollout.Script{Text: engine.HoldScript(h, lasts, "", nil), Timeout: time.Minute}
	}, "held")
	return exit(code)
}

func (a *app) releaseCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "release HOST…",
		Short: "End maintenance holds",
		Long: `release ends the maintenance hold of hosts. A hold that a run has taken is
ended by that run, or taken up by the next one; --force ends it all the same:
do so only when you know that the run is dead and what state the host is in.`,
		Args: count(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.release(cmd.Context(), args, force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "end a run's hold, too")
	return cmd
}

func (a *app) release(ctx context.Context, names []string, force bool) error {
	s, err := a.open(ctx, names)
	if err != nil {
		return err
	}
	defer s.close()
	sight, err := s.gatherSelected(ctx)
	if err != nil {
		return err
	}
	var mine []string
	code := engine.ExitOK
	for _, h := range s.selected() {
		f := sight[h.Name]
		switch {
		case !f.Reached():
			fmt.Fprintf(a.stderr, "%s: unreachable: %s\n", h.Name, f.Unreachable)
			code = code.Worse(engine.ExitUnreachable)
		case f.HoldProblem != "":
			fmt.Fprintf(a.stderr, "%s: %s; look at %s on the host and remove it by hand\n", h.Name, f.HoldProblem, engine.HoldPath)
			code = code.Worse(engine.ExitFailed)
		case f.Hold == nil:
			fmt.Fprintf(a.stdout, "%s: not held\n", h.Name)
		case f.Hold.Kind == engine.RunHold && !force:
			fmt.Fprintf(a.stderr, "%s: %s; that run, or the next, ends it (--force if you know better)\n", h.Name, f.Hold)
			code = code.Worse(engine.ExitRefused)
		default:
			mine = append(mine, h.Name)
		}
	}
	s.only(mine)
	return exit(code.Worse(a.onHosts(ctx, s, func(h engine.Host) rollout.Script {
		return rollout.Script{Text: engine.ReleaseScript(sight[h.Name].Hold.Owner(), engine.Release{}), Timeout: time.Minute}
	}, "released")))
}

// onHosts runs a script on each selected host and tells how it went.
func (a *app) onHosts(ctx context.Context, s *site, script func(engine.Host) rollout.Script, done string) engine.ExitCode {
	outlastReader()
	var mu sync.Mutex
	worst := engine.ExitOK
	tell := func(code engine.ExitCode, format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		worst = worst.Worse(code)
		out := a.stdout
		if code != engine.ExitOK {
			out = a.stderr
		}
		fmt.Fprintf(out, format+"\n", args...)
	}
	workers := pool.New().WithMaxGoroutines(32)
	for _, h := range s.selected() {
		workers.Go(func() {
			c, err := s.hosts.Connect(ctx, h)
			if err != nil {
				tell(engine.ExitUnreachable, "%s: unreachable: %v", h.Name, err)
				return
			}
			reply, err := c.Run(ctx, script(h))
			switch {
			case err != nil:
				tell(engine.ExitUnreachable, "%s: %v", h.Name, err)
			case reply.Code == engine.ScriptHeld:
				tell(engine.ExitRefused, "%s: %s", h.Name, whose(reply.Stdout))
			case reply.Code != 0:
				tell(engine.ExitFailed, "%s: exit status %d: %s", h.Name, reply.Code, engine.Printable(strings.TrimSpace(reply.Stderr)))
			default:
				tell(engine.ExitOK, "%s: %s", h.Name, done)
			}
		})
	}
	workers.Wait()
	return worst
}

func whose(text string) string {
	var h engine.Hold
	if json.Unmarshal([]byte(text), &h) != nil {
		return "held, by a hold that cannot be read"
	}
	return engine.Printable(h.String())
}
