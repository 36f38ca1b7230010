package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/simulator"
)

// casesWhileRebooting returns failures of a host that is rebooting.
func casesWhileRebooting() map[string]failureCase {
	return map[string]failureCase{
		"does not come back": {
			breaks: setTrait("etcd-1", func(t *simulator.Traits) { t.NoReturn = true }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for boot: not done within 20m0s", "connection refused"},
			hosts:  map[string]hostCheck{"etcd-1": isHeldBy("run-1"), "": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-1").PowerOn(); time.Sleep(time.Minute) },
		},
		"old OS": {
			breaks: setTrait("etcd-1", func(t *simulator.Traits) { t.OldOS = true }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for boot: it came back with v1", "No space left"},
			hosts: map[string]hostCheck{"etcd-1": isHeldBy("run-1", "it came back with v1"), "": checkUntouched},
		},
		"only a soft reboot": {
			breaks: setTrait("etcd-1", func(t *simulator.Traits) { t.Soft = true }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for boot: not done within 20m0s: the host has soft rebooted, and its kernel has not booted"},
			hosts: map[string]hostCheck{"etcd-1": isHeldBy("run-1", "the host has soft rebooted"), "": checkUntouched},
		},
		"a soft reboot": {
			inventory: allowSoftReboots,
			breaks:    setTrait("etcd-1", func(t *simulator.Traits) { t.SoftKind = true }),
			exit:      engine.ExitOK, hosts: map[string]hostCheck{"etcd-1": hasSoftRebooted(1), "": checkMatching},
		},
		"a soft reboot that is a full one": {
			inventory: allowSoftReboots,
			breaks:    setTrait("etcd-1", func(t *simulator.Traits) { t.SoftKind, t.Unprepared = true, true }),
			exit:      engine.ExitOK, hosts: map[string]hostCheck{"etcd-1": hasSoftRebooted(0), "": checkMatching},
		},
		"a soft reboot into the old OS": {
			inventory: allowSoftReboots,
			breaks:    setTrait("etcd-1", func(t *simulator.Traits) { t.SoftKind, t.OldOS = true, true }),
			exit:      engine.ExitFailed, words: []string{"etcd-1: wait for boot: it came back with v1", "No space left"},
			hosts: map[string]hostCheck{"etcd-1": isHeldBy("run-1", "it came back with v1"), "": checkUntouched},
		},
		"a kexec": {
			inventory: allowKexecs,
			breaks:    setTrait("etcd-1", func(t *simulator.Traits) { t.KexecKind = true }),
			exit:      engine.ExitOK, hosts: map[string]hostCheck{"etcd-1": hasSoftRebooted(0), "": checkMatching},
		},
		"a kexec into the old OS": {
			inventory: allowKexecs,
			breaks:    setTrait("etcd-1", func(t *simulator.Traits) { t.KexecKind, t.OldOS = true, true }),
			exit:      engine.ExitFailed, words: []string{"etcd-1: wait for boot: it came back with v1", "No space left"},
			hosts: map[string]hostCheck{"etcd-1": isHeldBy("run-1", "it came back with v1"), "": checkUntouched},
		},
		"only a soft reboot in place of a kexec": {
			inventory: allowKexecs,
			breaks:    setTrait("etcd-1", func(t *simulator.Traits) { t.KexecKind, t.Soft = true, true }),
			exit:      engine.ExitFailed, words: []string{"etcd-1: wait for boot: not done within 20m0s: the host has soft rebooted, and its kernel has not booted"},
			hosts: map[string]hostCheck{"etcd-1": isHeldBy("run-1", "the host has soft rebooted"), "": checkUntouched},
		},
		"power cut after the order to kexec": {
			inventory: allowKexecs,
			breaks: func(s failureWorld) {
				setTrait("etcd-1", func(t *simulator.Traits) { t.KexecKind = true })(s)
				s.doAtStep("etcd-1", "wait for boot", s.Host("etcd-1").Reset)
			},
			exit: engine.ExitOK, hosts: map[string]hostCheck{"etcd-1": hasSoftRebooted(0), "": checkMatching},
		},
		"power cut after the order to reboot": {
			breaks: func(s failureWorld) { s.doAtStep("etcd-1", "wait for boot", s.Host("etcd-1").Reset) },
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for boot: it came back with v1"},
			hosts: map[string]hostCheck{"etcd-1": isHeldBy("run-1", "it came back with v1"), "": checkUntouched},
		},
		"power cut after the order to soft reboot": {
			inventory: allowSoftReboots,
			breaks: func(s failureWorld) {
				setTrait("etcd-1", func(t *simulator.Traits) { t.SoftKind = true })(s)
				s.doAtStep("etcd-1", "wait for boot", s.Host("etcd-1").Reset)
			},
			exit: engine.ExitOK, hosts: map[string]hostCheck{"etcd-1": hasSoftRebooted(0), "": checkMatching},
		},
		"power lost after the order to soft reboot": {
			inventory: allowSoftReboots,
			breaks: func(s failureWorld) {
				setTrait("etcd-1", func(t *simulator.Traits) { t.SoftKind = true })(s)
				s.doAtStep("etcd-1", "wait for boot", s.Host("etcd-1").PowerOff)
			},
			exit: engine.ExitFailed, words: []string{"etcd-1: wait for boot: not done within 20m0s", "connection refused"},
			hosts:  map[string]hostCheck{"etcd-1": isHeldBy("run-1"), "": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-1").PowerOn(); time.Sleep(time.Minute) },
		},
		"a soft reboot that does not come back": {
			inventory: allowSoftReboots,
			breaks:    setTrait("etcd-1", func(t *simulator.Traits) { t.SoftKind, t.NoReturn = true, true }),
			exit:      engine.ExitFailed, words: []string{"etcd-1: wait for boot: not done within 20m0s", "connection refused"},
			hosts:  map[string]hostCheck{"etcd-1": isHeldBy("run-1"), "": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-1").PowerOn(); time.Sleep(time.Minute) },
		},
		"unit missing": {
			breaks: setTrait("etcd-1", func(t *simulator.Traits) { t.Missing = []string{"sshd.service"} }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for units: not done within 10m0s: sshd.service ran before and does not run"},
			hosts:  map[string]hostCheck{"etcd-1": isHeldBy("run-1", "sshd.service ran before"), "": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-1").StartUnits() },
		},
		"hangs in the shutdown": {
			breaks: setTrait("etcd-1", func(t *simulator.Traits) { t.Shutdown = 40 * time.Minute }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for boot: not done within 20m0s: the host has not gone down"},
			hosts:  map[string]hostCheck{"etcd-1": isHeldBy("run-1", "has not gone down"), "": checkUntouched},
			repair: func(failureWorld) { time.Sleep(time.Hour) },
		},
		"clock without a battery": {
			breaks: func(s failureWorld) {
				s.doAtStep("etcd-1", "wait for boot", func() {
					s.Host("etcd-1").Change(func(t *simulator.Traits) { t.Skew = -50 * 365 * 24 * time.Hour })
				})
			},
			exit: engine.ExitOK, hosts: map[string]hostCheck{"": checkMatching},
		},
		"unit that keeps ending": {
			breaks: setTrait("etcd-1", func(t *simulator.Traits) { t.Missing, t.Ending = []string{"sshd.service"}, true }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for units: not done within 10m0s: sshd.service ran before, and has only just started or keeps ending"},
			hosts:  map[string]hostCheck{"etcd-1": isHeldBy("run-1", "keeps ending"), "": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-1").StartUnits() },
		},
		"unit failed": {
			breaks: setTrait("etcd-1", func(t *simulator.Traits) { t.Failing = []string{"sshd.service"} }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for units: sshd.service has failed"},
			hosts:  map[string]hostCheck{"etcd-1": isHeldBy("run-1", "sshd.service has failed"), "": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-1").StartUnits() },
		},
		"unit failed, and nobody repairs it": {
			breaks: setTrait("etcd-1", func(t *simulator.Traits) { t.Failing = []string{"sshd.service"} }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for units"},
			hosts: map[string]hostCheck{"etcd-1": isHeldBy("run-1", "sshd.service has failed"), "": checkUntouched},
			again: engine.ExitFailed,
		},
		"member lost": {
			breaks: setTrait("etcd-1", func(t *simulator.Traits) { t.NoEtcd = true }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for etcd", "2 of 3 members are healthy"},
			hosts:  map[string]hostCheck{"etcd-1": isHeldBy("run-1", "2 of 3"), "": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-1").StartEtcd() },
		},
		"refuses to reboot": {
			breaks: setTrait("etcd-1", func(t *simulator.Traits) { t.Stubborn = true }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: reboot: exit status 1, and the host is not going down"},
			hosts: map[string]hostCheck{"etcd-1": allOf(checkNotRebooted, isHeldBy("run-1", "not going down")), "": checkUntouched},
		},
		"one of a batch": {
			inventory: twoAtOnce,
			breaks:    setTrait("worker-0", func(t *simulator.Traits) { t.NoReturn = true }),
			exit:      engine.ExitFailed, words: []string{"worker-0: wait for boot"},
			hosts:  map[string]hostCheck{"etcd": checkUpdated, "worker-0": isHeldBy("run-1"), "worker-1": checkUpdated, "worker-2": checkUntouched},
			repair: func(s failureWorld) { s.Host("worker-0").PowerOn(); time.Sleep(time.Minute) },
		},
		"gate after the host": {
			inventory: func(inv *engine.Inventory) {
				addGate(1, "ready", engine.AfterHost)(inv)
			},
			breaks: func(s failureWorld) { s.failCommand("ready") },
			exit:   engine.ExitFailed, words: []string{"worker-0: gate g"},
			hosts: map[string]hostCheck{"etcd": checkUpdated, "worker-0": isHeldBy("run-1"), "worker": checkUntouched},
		},
		"gate after the batch": {
			inventory: addGate(1, "ready", engine.AfterBatch),
			breaks:    func(s failureWorld) { s.failCommand("ready") },
			exit:      engine.ExitFailed, words: []string{"gate g"},
			hosts: map[string]hostCheck{"etcd": checkUpdated, "worker-0": checkUpdated, "worker": checkUntouched},
		},
	}
}

func allowKexecs(inv *engine.Inventory) {
	for i := range inv.Pools {
		inv.Pools[i].Reboot.Kexec = engine.AutoKexec
		if os := inv.Pools[i].OS; os != nil { // no other driver has a kexec
			ostree := *os
			ostree.Driver = "ostree"
			inv.Pools[i].OS = &ostree
		}
	}
}

func allowSoftReboots(inv *engine.Inventory) {
	for i := range inv.Pools {
		inv.Pools[i].Reboot.Soft = engine.AutoSoft
	}
}

// hasSoftRebooted checks that the host has soft rebooted so often since its kernel has booted.
func hasSoftRebooted(times int) hostCheck {
	return func(h *simulator.Host) error {
		if st := h.State(); st.SoftReboots != times || st.Boots != 2-times {
			return fmt.Errorf("%s has soft rebooted %d times, and its kernel has booted %d times", h.Name, st.SoftReboots, st.Boots)
		}
		return checkMatching(h)
	}
}

// TestAKexecThatIsAFullOne: the run tells that a host has rebooted in full, although a kexec was planned.
func TestAKexecThatIsAFullOne(t *testing.T) {
	for name, c := range map[string]struct {
		unprepared, powerCut, full bool
	}{
		"a kexec":         {},
		"does not load":   {unprepared: true, full: true},
		"loses its power": {powerCut: true, full: true},
	} {
		failOnErrors(t, runInBubble(t, func() error {
			inv := simulator.Fleet(0, 1)
			allowKexecs(&inv)
			site := newSite(inv)
			site.Host("worker-0").Change(func(t *simulator.Traits) { t.KexecKind, t.Unprepared = true, c.unprepared })
			b := site.Bastion("run-1")
			if c.powerCut {
				failureWorld{site, b}.doAtStep("worker-0", "wait for boot", site.Host("worker-0").Reset)
			}
			applyRun(b, runSerially)
			told := slices.ContainsFunc(b.Events(), func(e event.Event) bool {
				return e.Type == event.Warned && e.Host == "worker-0" && e.Reboot != nil && e.Reboot.Kind == engine.FullReboot && strings.HasPrefix(e.Message, "worker-0: it has rebooted in full, although a kexec was planned")
			})
			if told != c.full {
				return fmt.Errorf("%s: the run tells of a full reboot: %v", name, told)
			}
			return checkMatching(site.Host("worker-0"))
		}))
	}
}

// TestASoftRebootThatIsAFullOne: the run says that the kernel of a host has booted, although a soft reboot was planned.
func TestASoftRebootThatIsAFullOne(t *testing.T) {
	for _, unprepared := range []bool{false, true} {
		failOnErrors(t, runInBubble(t, func() error {
			inv := simulator.Fleet(0, 1)
			allowSoftReboots(&inv)
			site := newSite(inv)
			site.Host("worker-0").Change(func(t *simulator.Traits) { t.SoftKind, t.Unprepared = true, unprepared })
			b := site.Bastion("run-1")
			applyRun(b, runSerially)
			warned := slices.ContainsFunc(b.Events(), func(e event.Event) bool {
				return e.Host == "worker-0" && e.Reboot != nil && e.Reboot.Kind == engine.FullReboot && strings.HasPrefix(e.Message, "worker-0: it has rebooted in full, although a soft reboot was planned")
			})
			if warned != unprepared {
				return fmt.Errorf("unprepared %v, and the run says so %v", unprepared, warned)
			}
			return checkMatching(site.Host("worker-0"))
		}))
	}
}
