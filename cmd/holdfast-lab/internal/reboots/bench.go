// Package reboots measures the reboots of an OS update on real hosts: full ones with firmware, soft ones, and kexecs in qemu. It
// measures how long a host and its etcd member are away, and which writes of a client fail or are slow meanwhile.
package reboots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/spec"
	"holdfast/engine"
)

// hostsHCL describes the hosts: a cluster of three members, and one of a single member.
const hostsHCL = `
etcd_cluster "main" {}
etcd_cluster "one" {}
pool "etcd" {}
pool "single" {}
hosts "etcd" {
  range        = "0-2"
  pool         = "etcd"
  etcd_cluster = "main"
}
host "single-0" {
  pool         = "single"
  etcd_cluster = "one"
}
`

// update is the version that the hosts get. It has the kernel of the first version.
const update = "1.1"

// Bench is one series of measurements.
type Bench struct {
	Lab      *lab.Lab
	Binary   string // path of holdfast
	Out      io.Writer
	Results  Results
	Qemu     bool          // measures a host in qemu, which has a kernel of its own, instead of members of etcd
	Ways     string        // letters, by default all
	Runs     int           // number of runs in each way for each role
	Firmware time.Duration // time of the firmware before each boot of the host

	commit string // the update of members
	intact bool   // the host in qemu is up, and no run has failed on it
}

// way is a way to reboot the host of a member.
type way struct {
	letter string
	title  string
	kind   engine.RebootKind
	stays  bool // etcd runs on during the reboot
}

func allWays() []way {
	return []way{
		{letter: "f", title: "full", kind: engine.FullReboot},
		{letter: "s", title: "soft", kind: engine.SoftReboot},
		{letter: "k", title: "soft, etcd runs on", kind: engine.SoftReboot, stays: true},
		{letter: "x", title: "kexec", kind: engine.KexecReboot},
	}
}

// listLetters returns the letters of all ways to reboot the hosts of the series.
func (b *Bench) listLetters() string {
	if b.Qemu {
		return "fx"
	}
	return "fsk"
}

func wayOf(letter string) way {
	i := slices.IndexFunc(allWays(), func(w way) bool { return w.letter == letter })
	if i < 0 {
		return way{}
	}
	return allWays()[i]
}

// role is the member whose host reboots, or a host without one.
type role string

const (
	leader   role = "leader of three"
	follower role = "follower of three"
	only     role = "only member"
	virtual  role = "host in qemu" // has no member
)

func memberRoles() []role { return []role{leader, follower, only} }

func (b *Bench) listRoles() []role {
	if b.Qemu {
		return []role{virtual}
	}
	return memberRoles()
}

func (r role) cluster() string {
	if r == only {
		return "one"
	}
	return "main"
}

// key identifies a run.
type key struct {
	Way      string          `json:"way"` // letter
	Role     role            `json:"role"`
	Firmware engine.Duration `json:"firmware"`
	Round    int             `json:"round"` // from 1 on
}

func (k key) String() string {
	return fmt.Sprintf("(%s) %s, %s, run %d", k.Way, wayOf(k.Way).title, k.Role, k.Round)
}

const maxRuns = 1000

// Check returns an error if nothing can be measured with these settings. It chooses all ways if none is chosen.
func (b *Bench) Check() error {
	b.Ways = cmp.Or(b.Ways, b.listLetters())
	for i, letter := range b.Ways {
		if !strings.ContainsRune(b.listLetters(), letter) || strings.ContainsRune(b.Ways[:i], letter) {
			return fmt.Errorf("--ways must have different letters of %s, not %q", b.listLetters(), b.Ways)
		}
	}
	switch {
	case b.Runs < 1 || b.Runs > maxRuns:
		return fmt.Errorf("--runs must be from 1 to %d, not %d", maxRuns, b.Runs)
	case b.Firmware < 0 || b.Firmware > time.Hour:
		return fmt.Errorf("--firmware must be from 0 to 1h, not %s", b.Firmware)
	}
	return nil
}

// listRuns lists all runs in their order: each round has every way, because the machine may become slower with time. Every
// second round has them backwards, so that a host that goes from one OS to the other and back does both in each way.
func (b *Bench) listRuns() []key {
	var all []key
	for round := range b.Runs {
		letters := []rune(b.Ways)
		if round%2 == 1 {
			slices.Reverse(letters)
		}
		for _, r := range b.listRoles() {
			for _, letter := range letters {
				all = append(all, key{Way: string(letter), Role: r, Firmware: engine.Duration(b.Firmware), Round: round + 1})
			}
		}
	}
	return all
}

// Run measures the runs that have no result yet, each on new hosts, and prints the table of all results at the end, also if
// ctx ends before. A run that fails does not end the series, and the next series measures it again.
func (b *Bench) Run(ctx context.Context) error {
	done, err := b.Results.read()
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(b.listRuns(), func(k key) bool {
		return slices.ContainsFunc(done, func(r run) bool { return r.key == k && r.Failed == "" })
	})
	fmt.Fprintf(b.Out, "results in %s; %d of %d runs are left\n", b.Results.Dir, len(missing), len(b.listRuns()))
	if len(missing) > 0 {
		bringUp := b.bringUp
		if b.Qemu {
			bringUp = b.bringUpVirtual
		}
		if err := bringUp(ctx); err != nil {
			return err
		}
	}
	return errors.Join(b.measureAll(ctx, missing), PrintTable(b.Out, b.Results))
}

func (b *Bench) bringUp(ctx context.Context) error {
	s, err := spec.Parse("reboots.hcl", []byte(hostsHCL))
	if err != nil {
		return err
	}
	options := lab.Options{Suite: image.TestingComposefs}
	if err := b.Lab.Up(ctx, s, options); err != nil && ctx.Err() == nil {
		err = b.Lab.Up(ctx, s, options) // a host may fail to boot once
		if err != nil {
			return err
		}
	}
	versions, err := b.Lab.Versions()
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(versions, func(v image.Version) bool { return v.Version == update }); i >= 0 {
		b.commit = versions[i].Commit
		return ctx.Err()
	}
	b.commit, err = b.Lab.Commit(ctx, update, image.Changes{Payload: image.EqualFiles(5 << 20), SameKernel: true})
	return err
}

// measureAll writes each result at once. It leaves the ways out that the inventory does not know.
func (b *Bench) measureAll(ctx context.Context, missing []key) error {
	failed, unknown := 0, map[string]bool{}
	for i, k := range missing {
		if unknown[k.Way] {
			continue
		}
		r := run{key: k, Began: time.Now(), Load: readLoad()}
		measure := b.measureMember
		if b.Qemu {
			measure = b.measureVirtual
		}
		err := measure(ctx, k, &r)
		if ctx.Err() != nil {
			return fmt.Errorf("%w; the same command with --results %s continues", ctx.Err(), b.Results.Dir)
		}
		if errors.Is(err, errUnknownSetting) {
			fmt.Fprintf(b.Out, "(%s) %s is left out: %v\n", k.Way, wayOf(k.Way).title, err)
			unknown[k.Way] = true
			continue
		}
		if err != nil {
			r.Failed = err.Error()
			failed++
		}
		r.Took = engine.Duration(time.Since(r.Began))
		if err := b.Results.add(r); err != nil {
			return err
		}
		fmt.Fprintf(b.Out, "%s: %s\n  it took %s; %d runs are left\n", k, r, time.Duration(r.Took).Round(time.Second), len(missing)-i-1)
	}
	if failed > 0 {
		return fmt.Errorf("%d runs failed; the same command with --results %s measures them again", failed, b.Results.Dir)
	}
	return nil
}

// chooseHost returns the host of a member with that role.
func (b *Bench) chooseHost(ctx context.Context, r role) (*lab.Host, error) {
	for _, h := range b.Lab.Hosts() {
		if h.Cluster != r.cluster() {
			continue
		}
		status, err := h.EtcdHealth(ctx)
		if err != nil {
			return nil, err
		}
		if leads := status.Leader == status.Header.MemberId; leads == (r != follower) {
			return h, nil
		}
	}
	return nil, fmt.Errorf("no member is the %s", r)
}

func (b *Bench) inventoryPath() string { return filepath.Join(b.Lab.Site(), "reboots.hcl") }
