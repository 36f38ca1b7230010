// Package demo shows the main task of holdfast on real hosts: it updates the OS
// of five hosts while a writer puts a key into etcd every 50 ms. It prints the
// measurements.
package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/cmd/holdfast-lab/internal/idle"
	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/probe"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

const cluster = "main"

// Demo is one run of the demo.
type Demo struct {
	Lab  *lab.Lab
	Soft bool     // the hosts get an OS with the same kernel, by soft reboots; else another kernel, by full ones
	Out  *os.File // output of the demo and of holdfast
}

// Run brings the lab up, shows the update and checks every promise. Its error
// lists the broken promises. If a busy machine explains a miss, Run prints it and
// returns no error for it.
func (d Demo) Run(ctx context.Context) error {
	start := time.Now()
	if err := d.Lab.Claim(); err != nil { // before the first build in this folder
		return err
	}
	var binary string
	setUp := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	setUp.Go(d.bringUpFirst)
	setUp.Go(func(ctx context.Context) (err error) {
		binary, err = d.buildBinary(ctx)
		return err
	})
	if err := setUp.Wait(); err != nil {
		return err
	}
	before, err := idle.Measure(ctx, d.Lab, cluster)
	if err != nil {
		return err
	}
	bare, err := d.bareReboots(ctx)
	if err != nil {
		return err
	}
	report, stall, err := d.update(ctx, binary)
	if err != nil {
		return err
	}
	d.printTable(report, bare)
	fmt.Fprintf(d.Out, "\nThe demo took %.0f s. The hosts are still up: holdfast-lab status, ssh, down.\n", time.Since(start).Seconds())
	return d.reportMisses(ctx, findMisses(report, bare), before, stall)
}

// update updates the hosts, and returns the effects on a client, and how long the disk stood still.
func (d Demo) update(ctx context.Context, binary string) (report probe.Report, stall time.Duration, err error) {
	target, err := d.chooseTarget(ctx)
	if err != nil {
		return report, 0, err
	}
	inventory, err := d.writeInventory()
	if err != nil {
		return report, 0, err
	}
	boots, err := d.readBoots(ctx)
	if err != nil {
		return report, 0, err
	}
	site := []string{"-i", inventory, "--var", "commit=" + target}
	if err := d.runHoldfast(ctx, 2, append([]string{binary, "plan"}, site...)...); err != nil {
		return report, 0, err
	}
	disk, err := idle.WatchDisk(d.Lab.Dir())
	if err != nil {
		return report, 0, err
	}
	p, err := d.Lab.Probe(ctx, cluster)
	if err != nil {
		_, stopErr := disk.Stop()
		return report, 0, errors.Join(err, stopErr)
	}
	applyErr := d.runHoldfast(ctx, 0, append([]string{binary, "apply", "--yes"}, site...)...)
	report, err = p.Stop()
	stall, diskErr := disk.Stop()
	if err := errors.Join(applyErr, err, diskErr); err != nil {
		return report, 0, err
	}
	d.printLine("Once more: there must be nothing left to do.")
	if err := d.runHoldfast(ctx, 0, append([]string{binary, "apply", "--yes"}, site...)...); err != nil {
		return report, 0, err
	}
	return report, stall, errors.Join(d.checkBooted(ctx, target), d.checkSoft(ctx, boots), d.setFirmware(ctx, 0))
}

func (d Demo) bringUpFirst(ctx context.Context) error {
	s, err := spec.Parse("default.hcl", spec.DefaultHCL)
	if err != nil {
		return err
	}
	if err := d.Lab.Up(ctx, s, d.options()); err != nil {
		return err
	}
	first, _, err := d.Lab.Commits()
	if err != nil {
		return err
	}
	for _, h := range d.Lab.Hosts() {
		commit, _, err := h.Booted(ctx)
		if err != nil {
			return err
		}
		if commit != first {
			d.printLine("The hosts are not all on the first version; starting over with fresh ones.")
			return d.Lab.Reset(ctx)
		}
	}
	return nil
}

func (d Demo) buildBinary(ctx context.Context) (string, error) {
	return Build(ctx, filepath.Join(d.Lab.Dir(), "demo"))
}

// Build compiles holdfast with build tags into a folder. The working directory
// must be in the module of holdfast.
func Build(ctx context.Context, dir string, tags ...string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build holdfast: %w", err)
	}
	binary := filepath.Join(dir, "holdfast")
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", strings.Join(tags, ","), "-o", binary, "holdfast/cmd/holdfast")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build holdfast (run this in its checkout): %w: %s", err, strings.TrimSpace(string(out)))
	}
	return binary, nil
}

func (d Demo) runHoldfast(ctx context.Context, code int, argv ...string) error {
	fmt.Fprintf(d.Out, "\n$ holdfast %s\n", strings.Join(argv[1:], " "))
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, d.Out, os.Stderr
	if err := d.Lab.Start(cmd); err != nil {
		return fmt.Errorf("start holdfast: %w", err)
	}
	err := cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != code {
		return errors.Join(fmt.Errorf("holdfast %s: exit status %d, not %d", argv[1], got, code), err)
	}
	fmt.Fprintf(d.Out, "(exit status %d)\n", code)
	return nil
}

// bareReboots reboots each host without an update, and measures how long its
// member does not answer.
func (d Demo) bareReboots(ctx context.Context) (map[string]time.Duration, error) {
	d.printLine("How long is a member away when its host just reboots? Measured on each, one after the other, with a worker beside it.")
	if d.Soft {
		fmt.Fprintf(d.Out, "Here, the firmware of a host takes %.0f s.\n", firmware.Seconds())
	}
	if err := d.setFirmware(ctx, firmware); err != nil {
		return nil, err
	}
	p, err := d.Lab.Probe(ctx, cluster)
	if err != nil {
		return nil, err
	}
	rebootErr := d.rebootMembers(ctx)
	report, err := p.Stop()
	if err := errors.Join(rebootErr, err); err != nil {
		return nil, err
	}
	away := map[string]time.Duration{}
	for _, m := range report.Members {
		away[m.Name] = m.Longest()
	}
	return away, nil
}

// rebootMembers reboots the members one after the other, each with a worker
// beside it, as a batch of the update does: on a slow machine, two hosts that boot
// at once need longer than one.
func (d Demo) rebootMembers(ctx context.Context) error {
	var members, workers []*lab.Host
	for _, h := range d.Lab.Hosts() {
		if h.Cluster == "" {
			workers = append(workers, h)
		} else {
			members = append(members, h)
		}
	}
	for i, h := range members {
		batch := []*lab.Host{h}
		if len(workers) > 0 {
			batch = append(batch, workers[i%len(workers)])
		}
		if err := rebootHosts(ctx, batch); err != nil {
			return err
		}
		if err := h.WaitEtcd(ctx); err != nil {
			return err
		}
	}
	return nil
}

func rebootHosts(ctx context.Context, hosts []*lab.Host) error {
	var old []string
	for _, h := range hosts {
		id, err := h.BootID(ctx)
		if err != nil {
			return err
		}
		old = append(old, id)
	}
	for _, h := range hosts {
		// The exit status does not matter, because the connection may end first.
		_, _, _, _ = h.Run(ctx, "sudo systemctl reboot")
	}
	for i, h := range hosts {
		if err := h.WaitUp(ctx, old[i]); err != nil {
			return err
		}
	}
	return nil
}

func (d Demo) checkBooted(ctx context.Context, target string) error {
	fmt.Fprintln(d.Out)
	var wrong []error
	for _, h := range d.Lab.Hosts() {
		commit, version, err := h.Booted(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(d.Out, "%-10s booted %s (%.12s)\n", h.Name, version, commit)
		if commit != target {
			wrong = append(wrong, fmt.Errorf("%s runs %.12s, not %.12s", h.Name, commit, target))
		}
	}
	return errors.Join(wrong...)
}

func (d Demo) printLine(text string) { fmt.Fprintf(d.Out, "\n%s\n", text) }

func (d Demo) printTable(r probe.Report, bare map[string]time.Duration) { writeTable(d.Out, r, bare) }
