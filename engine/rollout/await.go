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
	"holdfast/engine/event"
	"holdfast/engine/hostscript"
)

// hostWait is a wait of a step for a condition of its host.
type hostWait struct {
	*gatherer
	hp        engine.HostPlan
	heartbeat *stepHeartbeat
}

// pollUntil calls probe until the probe finds nothing missing, the host has
// failed for good, or the context ends. The cause of a timeout is the last
// missing condition that a complete probe found.
func (w *hostWait) pollUntil(ctx context.Context, probe func(context.Context) (missing string, fatal error)) error {
	return w.pollEvery(ctx, w.pollInterval(), probe)
}

func (w *hostWait) pollEvery(ctx context.Context, interval time.Duration, probe func(context.Context) (missing string, fatal error)) error {
	missing := ""
	for {
		found, fatal := probe(ctx)
		if fatal != nil || found == "" {
			return fatal
		}
		if ctx.Err() == nil || missing == "" {
			missing = found
		}
		w.heartbeat.setMissing(missing)
		if err := w.Clock.Sleep(ctx, interval); err != nil {
			if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
				return &engine.Failure{Cause: fmt.Sprintf("%s: %s", cause, missing)}
			}
			return err
		}
	}
}

// awaitBoot waits until the host answers from another boot, and fails if the
// host runs another OS than planned. An answer alone proves no reboot. If a full
// reboot was ordered, only the boot ID of the kernel proves it. If a soft reboot was
// ordered, each other boot ends the wait: a host that cannot soft reboot, or loses
// its power meanwhile, boots its kernel. A host that does not answer may be reset.
func (w *hostWait) awaitBoot(ctx context.Context, want engine.AwaitBoot, reset *bootReset) error {
	left := want.BootID
	return w.pollUntil(ctx, func(ctx context.Context) (string, error) {
		began := w.Clock.Now()
		f, err := w.probeHost(ctx)
		told := reset.noteProbe(ctx, began.Round(0).Add(w.Clock.Now().Sub(began)), err) // by the wall clock; it ended later if the bastion was suspended
		switch {
		case err != nil:
			return "the host does not answer: " + err.Error() + told, nil
		case f.BootID != "" && f.BootID == left:
			return "the host has not gone down", nil
		case f.BootID.SharesKernel(left) && !want.Kind.SharesKernel(): // a soft reboot is less than the order
			return "the host has soft rebooted, and its kernel has not booted", nil
		case f.BootID == "", want.Digest != "" && f.Booted() == nil: // the host may still be booting
			return "it answers, but its booted OS is not known: " + strings.Join(f.Problems, "; "), nil
		case left == "" && want.Digest != "" && f.Booted().Digest != want.Digest:
			left = f.BootID
			return "the host has not gone down", nil
		}
		switch {
		case want.Kind == engine.SoftReboot && left != "" && !f.BootID.SharesKernel(left):
			w.noteFullReboot("a soft reboot", "it could not soft reboot, or it lost its power")
		case want.Kind == engine.KexecReboot && f.Reboots.StartedBy == engine.StartedByLoader:
			w.noteFullReboot("a kexec", "it could not kexec, or it lost its power")
		}
		return "", wrongOS(f, want)
	})
}

// noteFullReboot warns that the host has rebooted in full, although another reboot was planned.
func (w *hostWait) noteFullReboot(planned, reason string) {
	w.noteEvent(event.Event{
		Type: event.Warned, Host: w.hp.Host, Message: w.hp.Host + ": it has rebooted in full, although " + planned + " was planned: " + reason,
		Reboot: &engine.Reboot{Kind: engine.FullReboot, Reason: reason, Chosen: true},
	})
}

func (w *hostWait) probeHost(ctx context.Context) (engine.Facts, error) {
	h, _ := w.Inventory.Host(w.hp.Host)
	return w.readFacts(ctx, h, w.runScript)
}

func wrongOS(f engine.Facts, want engine.AwaitBoot) error {
	digest := want.Digest
	if digest == "" {
		return nil
	}
	booted := f.Booted()
	if booted.Digest == digest {
		return nil // a report of the OS tool is about an earlier attempt
	}
	failure := &engine.Failure{
		Cause: fmt.Sprintf("it came back with %s (%s), not with the planned %s", orUnknown(booted.Version), engine.ShortDigest(booted.Digest), engine.ShortDigest(digest)),
		Hint:  "the host runs its old OS, and nothing shows why: it may have lost power before its OS was exchanged; the next run tries again",
	}
	if f.FinalizeProblem != "" {
		failure.Cause += ": the OS tool reports: " + f.FinalizeProblem
	}
	if want.Kept {
		failure.Hint = "the host runs another OS than planned, and nothing shows why: it may have lost power before its OS was exchanged, or another deployment is the default of its boot loader (ostree admin status); the next run tries again"
	}
	if want.Kind.SharesKernel() && f.BootID.SharesKernel(want.BootID) && f.FinalizeProblem == "" { // the boot loader was not asked
		failure.Hint = "the host has soft rebooted into its old root; the next run tries again; find out why (journalctl -b -u ostree-finalize-staged.service)"
		return failure
	}
	if refusedOS(f, want) {
		failure.NotBooted = digest
		failure.Hint = "the host runs its old OS; no run reboots it into the new one while nothing in /boot changes; find out why (journalctl -b -1 -u ostree-finalize-staged.service)"
	}
	return failure
}

// refusedOS reports whether another reboot would end in the same way: the OS
// tool could not exchange the OS, or it did, and the host booted its old one
// again. This is not so if the host lost power before: its staged OS is gone,
// and an OS that it had kept was not made its default.
func refusedOS(f engine.Facts, want engine.AwaitBoot) bool {
	planned := slices.IndexFunc(f.Deployments, func(d engine.Deployment) bool { return d.Digest == want.Digest })
	booted := slices.IndexFunc(f.Deployments, func(d engine.Deployment) bool { return d.Booted })
	return f.FinalizeProblem != "" || planned >= 0 && (planned < booted || !want.Kept)
}

func orUnknown(version string) string {
	if version == "" {
		return "an unnamed version"
	}
	return version
}

// mostUnits is the number of units that a reason names.
const mostUnits = 8

// failedFor is how long a unit may stay failed before the wait for units ends. A
// unit that systemd will restart is not failed meanwhile, so only something else,
// such as a dependency or a timer, could still start it.
const failedFor = 30 * time.Second

func (w *hostWait) awaitUnits(ctx context.Context, want engine.AwaitUnits) error {
	watch := unitsWatch{want: want, since: map[string]time.Time{}, logs: map[string]string{}}
	err := w.pollUntil(ctx, func(ctx context.Context) (string, error) {
		f, err := w.probeHost(ctx)
		if err != nil {
			if ctx.Err() == nil { // otherwise the probe was interrupted
				watch.lost = true
				clear(watch.since)
			}
			return "the host does not answer: " + err.Error(), nil
		}
		now := w.Clock.Now()
		missing := watch.judgeUnits(f, now)
		for _, u := range slices.Sorted(maps.Keys(watch.since)) {
			w.lastLines(ctx, u, watch.logs)
		}
		if watch.hasFailedForGood(now) {
			return missing, &engine.Failure{Cause: missing}
		}
		return missing, nil
	})
	var f *engine.Failure
	if errors.As(err, &f) {
		f.Hint = "until they are as they were before the first disruption, no run calls the host updated; repair them, or accept them as they are: holdfast release --force --accept-units " + w.hp.Host
		for _, u := range slices.Sorted(maps.Keys(watch.since)) {
			if watch.logs[u] != "" {
				f.Stderr += watch.logs[u] + "\n"
			}
		}
	}
	if watch.lost && f != nil {
		f.Kind = engine.UnreachableFailure
	}
	return err
}

// unitsWatch is the state of a wait for units.
type unitsWatch struct {
	want  engine.AwaitUnits
	lost  bool                 // the connection was lost at the last probe
	since map[string]time.Time // failed units, and when a probe first found them failed, without a good one since then
	logs  map[string]string
}

// judgeUnits returns which units are not as wanted; "" if all are.
func (w *unitsWatch) judgeUnits(f engine.Facts, now time.Time) string {
	w.lost = false
	var bad []string
	for _, u := range f.Failed {
		if slices.Contains(w.want.FailedUnits, u) {
			continue
		}
		bad = append(bad, u+" has failed")
		if _, known := w.since[u]; !known {
			w.since[u] = now
		}
	}
	maps.DeleteFunc(w.since, func(u string, _ time.Time) bool { return !slices.Contains(f.Failed, u) })
	for _, u := range w.want.RunningUnits {
		switch {
		case slices.Contains(f.Failed, u):
		case slices.Contains(f.Unsettled, u):
			bad = append(bad, u+" ran before, and has only just started or keeps ending")
		case !slices.Contains(f.Running, u):
			bad = append(bad, u+" ran before and does not run")
		}
	}
	if more := len(bad) - mostUnits; more > 0 {
		bad = append(bad[:mostUnits], fmt.Sprintf("and %d more units", more))
	}
	return strings.Join(bad, "; ")
}

func (w *unitsWatch) hasFailedForGood(now time.Time) bool {
	for _, since := range w.since {
		if now.Sub(since) >= failedFor {
			return true
		}
	}
	return false
}

func (w *hostWait) lastLines(ctx context.Context, unit string, logs map[string]string) {
	if _, known := logs[unit]; known || len(logs) >= mostUnits {
		return
	}
	logs[unit] = ""
	script := "timeout 10 journalctl --quiet --no-pager --lines=5 --output=cat --unit=" + hostscript.Quote(unit)
	if reply, err := w.runScript(ctx, w.hp.Host, Script{Purpose: LogScript, Text: script, Timeout: 20 * time.Second}); err == nil && reply.Code == 0 {
		logs[unit] = w.Secrets.KeepTail(strings.TrimSpace(reply.Stdout), 1024)
	}
}
