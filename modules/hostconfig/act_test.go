package hostconfig

import (
	"os"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/rules"
	"holdfast/modules/hostconfig/record"
	"holdfast/modules/moduletest"
)

func action(kind engine.ActionType, unit string) rules.Action {
	return rules.Action{Action: engine.Action{Type: kind, Unit: unit}}
}

// unitStates returns a function that prepares the answers of systemd about a
// unit, one answer for each query.
func unitStates(lines ...string) func(*writeBox) {
	return func(b *writeBox) { b.Put("/looks", strings.Join(lines, "\n")+"\n", 0o644) }
}

func TestActions(t *testing.T) {
	for name, test := range map[string]struct {
		do      rules.Action
		prepare func(*writeBox)
		code    int
		says    string
		log     string // a part of the log
	}{
		"daemon-reload": {do: action(engine.ReloadDaemon, ""), log: "systemctl daemon-reload\n"},
		"reload": {
			do: action(engine.ReloadUnit, "crio.service"), prepare: func(b *writeBox) { b.Put("/units/crio.service", "active\n", 0o644) },
			log: "systemctl reload crio.service\n",
		},
		"reload of what is not running": {
			do: action(engine.ReloadUnit, "crio.service"), prepare: func(b *writeBox) { b.Put("/units/crio.service", "inactive\n", 0o644) },
			says: "crio.service is not running, so there is nothing to reload",
		},
		"reload of what is missing": {
			do: action(engine.ReloadUnit, "crio.service"), code: hostscript.ScriptActionFailed, says: "reload crio.service: exit status 1: crio.service is not active",
		},
		"reload that fails": {
			do: action(engine.ReloadUnit, "crio.service"), prepare: func(b *writeBox) {
				b.Put("/units/crio.service", "active\n", 0o644)
				b.Put("/fail-reload", "Job for crio.service failed.\n", 0o644)
			},
			code: hostscript.ScriptActionFailed, says: "reload crio.service: exit status 1: Job for crio.service failed.",
		},
		"reload that hangs": {
			do: rules.Action{Action: engine.Action{Type: engine.ReloadUnit, Unit: "crio.service"}, Timeout: engine.Duration(90e9)}, prepare: func(b *writeBox) {
				b.Put("/units/crio.service", "active\n", 0o644)
				b.AddTool("timeout", "case $* in *' reload '*) echo \"$*\" >>$BOX/log; exit 124;; esac; [ $1 != -k ] || shift 2; shift; exec \"$@\"\n")
			},
			code: hostscript.ScriptActionFailed, says: "reload crio.service: not done within 1m30s", log: "-k 10 90 systemctl reload crio.service\n",
		},
		"restart": {do: action(engine.RestartUnit, "crio.service"), log: "systemctl restart crio.service\n"},
		"restart of what ends by itself": {
			do: action(engine.RestartUnit, "coreos-update-ca-trust.service"), prepare: func(b *writeBox) { b.Put("/after-restart", "inactive\n", 0o644) },
			log: "systemctl restart coreos-update-ca-trust.service\n",
		},
		"restart that leaves it failed": {
			do: action(engine.RestartUnit, "crio.service"), prepare: func(b *writeBox) { b.Put("/after-restart", "failed\n", 0o644) },
			code: hostscript.ScriptActionFailed, says: "restart crio.service: the unit has failed",
		},
		"restart of what dies a moment later": {
			do: action(engine.RestartUnit, "crio.service"), prepare: unitStates("active running 0 simple", "active running 0 simple", "failed failed 0 simple"),
			code: hostscript.ScriptActionFailed, says: "restart crio.service: the unit has failed (exit-code)",
		},
		"restart of what dies while it starts": {
			do: action(engine.RestartUnit, "crio.service"), prepare: unitStates("activating start 0 notify", "activating start 0 notify", "failed failed 0 notify"),
			code: hostscript.ScriptActionFailed, says: "restart crio.service: the unit has failed (exit-code)",
		},
		"restart of what is started again and again": {
			do: action(engine.RestartUnit, "crio.service"), prepare: unitStates("active running 0 simple", "activating auto-restart 0 simple", "active running 1 simple", "activating auto-restart 1 simple", "active running 2 simple"),
			code: hostscript.ScriptActionFailed, says: "restart crio.service: the unit has ended and was started again by systemd, 2 times by now\nthe last line of its journal\n",
		},
		"restart of what is up at the second try": {
			do: action(engine.RestartUnit, "crio.service"), prepare: unitStates("activating auto-restart 0 notify", "activating start 1 notify", "active running 1 notify"),
			log: "systemctl restart crio.service\n",
		},
		"restart of what waits for its next try": {
			do: rules.Action{Action: engine.Action{Type: engine.RestartUnit, Unit: "crio.service"}, Timeout: engine.Duration(9e9)}, prepare: unitStates("activating auto-restart 0 simple"),
			code: hostscript.ScriptActionFailed, says: "restart crio.service: the unit is activating (auto-restart) after 9s",
		},
		"restart of a daemon that ends": {
			do: action(engine.RestartUnit, "crio.service"), prepare: func(b *writeBox) {
				b.Put("/units/crio.service", "active\n", 0o644)
				unitStates("active running 0 simple", "inactive dead 0 simple")(b)
			},
			code: hostscript.ScriptActionFailed, says: "restart crio.service: the unit ran before, and has ended",
		},
		"reload of what dies of it": {
			do: action(engine.ReloadUnit, "crio.service"), prepare: func(b *writeBox) {
				b.Put("/units/crio.service", "active\n", 0o644)
				unitStates("active running 3 simple", "failed failed 3 simple")(b)
			},
			code: hostscript.ScriptActionFailed, says: "reload crio.service: the unit has failed (exit-code)",
		},
		"restart of what changed on disk": {
			do: action(engine.RestartUnit, "crio.service"), prepare: func(b *writeBox) { b.Put("/need-reload", "", 0o644) },
			log: "systemctl daemon-reload\nsystemctl restart crio.service\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "daemon-reload", "reload", "reload of what is not running", "reload that fails", "restart", "restart of what dies a moment later", "restart of what changed on disk")
			t.Parallel()
			b := newWriteBox(t)
			b.Put(record.Path, "before", 0o600)
			b.AddTool("journalctl", "echo 'the last line of its journal'\n")
			if test.prepare != nil {
				test.prepare(b)
			}
			out := b.RunScript(actScript(moduletest.By("r1"), test.do, []byte("failed")))
			b.Want(out, test.code, test.says)
			if !strings.Contains(b.Log(), test.log) {
				t.Errorf("log %s", b.Log())
			}
			want := "before"
			if test.code != 0 {
				want = "failed"
				if !strings.Contains(out.Stderr, "\nthe last line of its journal\n") {
					t.Errorf("%s", out.Stderr)
				}
			}
			if got := b.Read(record.Path); got != want {
				t.Errorf("record %q, want %q", got, want)
			}
			if info, err := os.Stat(b.At(record.Path)); err != nil || info.Mode() != 0o600 {
				t.Errorf("record %v, %v", info, err)
			}
			b.CheckClean()
		})
	}
}

// A restored original is removed after the record is written, not before.
func TestAnActionKeepsWhatTheRecordNeeds(t *testing.T) {
	longtest.SkipSlow(t)
	b := crashSite(t)
	w := b.crashWrite(false)
	b.Want(b.write(w), 0, "")
	b.Want(b.RunScript(actScript(moduletest.By("r1"), action(engine.ReloadUnit, "crio.service"), []byte("failed"))), 0, "")
	b.record(w)
	b.crashWritten()
}

func TestAnActionNeedsTheHold(t *testing.T) {
	b := newWriteBox(t)
	b.Hold(engine.RunHold, "r2")
	b.Want(b.RunScript(actScript(moduletest.By("r1"), action(engine.RestartUnit, "crio.service"), nil)), hostscript.ScriptHeld, "")
	b.Want(b.RunScript(recordScript(moduletest.By("r1"), []byte("x"), false)), hostscript.ScriptHeld, "")
	b.Want(b.RunScript(recordScript(moduletest.By("r1"), []byte("x"), true)), hostscript.ScriptHeld, "")
	b.Remove("var/lib/holdfast/hold.json")
	b.Want(b.RunScript(recordScript(moduletest.By("r1"), []byte("x"), false)), hostscript.ScriptHeld, "")
	if b.Exists("var/lib/holdfast/applied.json") || b.Log() != "" {
		t.Error("something was done")
	}
	b.Want(b.RunScript(recordScript(moduletest.By("r1"), []byte("x"), true)), 0, "")
}

// A quiet write replaces files, carries out actions and writes the record in one
// script. The record names the action that failed.
func TestAQuietWriteActsAndRecords(t *testing.T) {
	b := newWriteBox(t)
	b.Remove("var/lib/holdfast/hold.json")
	b.Put("/units/crio.service", "active\n", 0o644)
	w := b.planWrite(contents{"/etc/a": "1"}, writtenFile("/etc/a"))
	w.quiet = true
	w.acts = []rules.Action{action(engine.ReloadUnit, "crio.service"), action(engine.RestartUnit, "kubelet.service"), action(engine.RestartUnit, "never.service")}
	w.failure = func(action string) []byte { return []byte("failed: " + action) }
	b.Put("/after-restart", "failed\n", 0o644)
	b.Want(b.write(w), hostscript.ScriptActionFailed, "restart kubelet.service: the unit has failed")
	if got := b.Read(record.Path); got != "failed: restart kubelet.service" {
		t.Errorf("record %s", got)
	}
	if strings.Contains(b.Log(), "never") || b.Read("/etc/a") != "1" {
		t.Errorf("log %s", b.Log())
	}
	b.Remove("after-restart")
	w = b.planWrite(contents{"/etc/a": "1"}, writtenFile("/etc/a"))
	w.quiet = true
	b.Want(b.write(w), 0, "")
	if got := b.Read(record.Path); got != `{"after":1}` {
		t.Errorf("record %s", got)
	}
	b.CheckClean()
}

func TestAFailureIsKnownThoughTheConnectionIsGone(t *testing.T) {
	b := newWriteBox(t)
	b.Put("/units/crio.service", "active\n", 0o644)
	b.Put("/etc/a/x", "", 0o644)
	b.Put("/etc/mine", "", 0o644)
	w := b.planWrite(contents{}, testEdit{path: "/etc/a", mode: -1}) // prints that the directory stays
	closed := func(x engine.Exec) engine.Exec {
		x.Script = slices.Concat(engine.NewScript("exec >&- 2>&-\n"), x.Script)
		return x
	}
	out := b.RunScript(closed(w.buildScript()))
	if out.Code != 0 || b.Read(record.Path) != `{"before":1}` {
		t.Errorf("%+v", out)
	}
	b.RunScript(closed(actScript(moduletest.By("r1"), action(engine.ReloadUnit, "none.service"), []byte("failed"))))
	if got := b.Read(record.Path); got != "failed" {
		t.Errorf("record %q", got)
	}
}

// Another run may write the record, such as after a reboot.
func TestTheRecordOfAnotherRunForgetsWhatWasPutBack(t *testing.T) {
	longtest.SkipSlow(t)
	b := crashSite(t)
	w := b.crashWrite(false)
	b.Want(b.write(w), 0, "")
	b.Hold(engine.RunHold, "r2")
	b.Want(b.RunScript(recordScript(moduletest.By("r2"), w.after, false)), 0, "")
	b.crashWritten()
}
