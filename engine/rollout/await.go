package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

// pollUntil calls probe until the probe finds nothing missing, the host has
// failed for good, or the context ends. The cause of a timeout is the last
// missing condition that a complete probe found.
func (r *Run) pollUntil(ctx context.Context, heartbeat *stepHeartbeat, probe func(context.Context) (missing string, fatal error)) error {
	missing := ""
	for {
		found, fatal := probe(ctx)
		if fatal != nil || found == "" {
			return fatal
		}
		if ctx.Err() == nil || missing == "" {
			missing = found
		}
		heartbeat.setMissing(missing)
		if err := r.Clock.Sleep(ctx, r.pollInterval()); err != nil {
			if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
				return &engine.Failure{Cause: fmt.Sprintf("%s: %s", cause, missing)}
			}
			return err
		}
	}
}

// awaitBoot waits until the host answers from another boot, and fails if the
// host runs another OS than planned. Only the boot ID proves a reboot; an
// answer alone does not.
func (r *Run) awaitBoot(ctx context.Context, hp engine.HostPlan, want engine.AwaitBoot, heartbeat *stepHeartbeat) error {
	left := want.BootID
	return r.pollUntil(ctx, heartbeat, func(ctx context.Context) (string, error) {
		f, err := r.probeHost(ctx, hp)
		switch {
		case err != nil:
			return "the host does not answer: " + err.Error(), nil
		case f.BootID != "" && f.BootID == left:
			return "the host has not gone down", nil
		case f.BootID == "", want.Digest != "" && f.Booted() == nil: // the host may still be booting
			return "it answers, but its booted OS is not known: " + strings.Join(f.Problems, "; "), nil
		case left == "" && want.Digest != "" && f.Booted().Digest != want.Digest:
			left = f.BootID
			return "the host has not gone down", nil
		}
		return "", wrongOS(f, want.Digest)
	})
}

func (r *Run) probeHost(ctx context.Context, hp engine.HostPlan) (engine.Facts, error) {
	h, _ := r.Inventory.Host(hp.Host)
	return r.readFacts(ctx, h, r.runScript)
}

func wrongOS(f engine.Facts, digest string) error {
	if digest == "" {
		return nil
	}
	booted := f.Booted()
	if booted.Digest == digest {
		return nil // a report of the OS tool is about an earlier attempt
	}
	cause := fmt.Sprintf("it came back with %s (%s), not with the planned %s", orUnknown(booted.Version), engine.ShortDigest(booted.Digest), engine.ShortDigest(digest))
	if f.FinalizeErr != "" {
		cause += ": the OS tool reports: " + f.FinalizeErr
	}
	return &engine.Failure{Cause: cause, Hint: "the host runs its old OS; find out why before the next run tries again (journalctl -b -1 -u ostree-finalize-staged.service)"}
}

func orUnknown(version string) string {
	if version == "" {
		return "an unnamed version"
	}
	return version
}

// mostUnits is the number of units that a reason names.
const mostUnits = 8

func (r *Run) awaitUnits(ctx context.Context, hp engine.HostPlan, want engine.AwaitUnits, heartbeat *stepHeartbeat) error {
	lost := false       // the connection was lost at the last probe
	var failed []string // failed units at the last probe
	logs := map[string]string{}
	err := r.pollUntil(ctx, heartbeat, func(ctx context.Context) (string, error) {
		f, err := r.probeHost(ctx, hp)
		if err != nil {
			if ctx.Err() == nil { // otherwise the probe was interrupted
				lost, failed = true, nil
			}
			return "the host does not answer: " + err.Error(), nil
		}
		lost = false
		var bad []string
		failed = nil
		for _, u := range f.Failed {
			if !slices.Contains(want.Failed, u) {
				bad, failed = append(bad, u+" has failed"), append(failed, u)
				r.lastLines(ctx, hp, u, logs)
			}
		}
		for _, u := range want.Running {
			if !slices.Contains(f.Running, u) && !slices.Contains(f.Failed, u) {
				bad = append(bad, u+" ran before and does not run")
			}
		}
		if more := len(bad) - mostUnits; more > 0 {
			bad = append(bad[:mostUnits], fmt.Sprintf("and %d more units", more))
		}
		return strings.Join(bad, "; "), nil
	})
	var f *engine.Failure
	if errors.As(err, &f) {
		for _, u := range slices.Sorted(maps.Keys(logs)) {
			if slices.Contains(failed, u) && logs[u] != "" {
				f.Stderr += logs[u] + "\n"
			}
		}
	}
	if lost && f != nil {
		f.Kind = engine.UnreachableFailure
	}
	return err
}

func (r *Run) lastLines(ctx context.Context, hp engine.HostPlan, unit string, logs map[string]string) {
	if _, known := logs[unit]; known || len(logs) >= mostUnits {
		return
	}
	logs[unit] = ""
	script := "timeout 10 journalctl --quiet --no-pager --lines=5 --output=cat --unit=" + hostscript.Quote(unit)
	if reply, err := r.runScript(ctx, hp.Host, Script{Purpose: LogScript, Text: script, Timeout: 20 * time.Second}); err == nil && reply.Code == 0 {
		logs[unit] = textutil.KeepTail(strings.TrimSpace(reply.Stdout), 1024)
	}
}
