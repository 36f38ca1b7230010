package scenario

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/disk"
	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/kubernetes"
	"holdfast/cmd/holdfast-lab/internal/lab"
)

func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"lab": cmdLab, "site": cmdSite, "amend": cmdAmend, "govern": cmdGovern,
		"inside": cmdInside, "holdfast": cmdHoldfast, "start": cmdStart, "await": cmdAwait, "signal": cmdSignal, "finish": cmdFinish,
		"terminal": cmdTerminal, "type": cmdType, "screen": cmdScreen,
		"on": cmdOn, "power": cmdPower, "mains": cmdMains, "clients": cmdClients, "up": cmdUp, "back": cmdBack,
		"cut": forEachHost((*lab.Host).Cut), "heal": forEachHost((*lab.Host).Heal),
		"freeze": forEachHost((*lab.Host).Freeze), "thaw": forEachHost((*lab.Host).Thaw),
		"slow": cmdSlow, "post": cmdPost, "repository": cmdRepository, "commit": cmdCommit, "transfers": cmdTransfers,
		"booted": cmdBooted, "boots": cmdBoots, "held": cmdHeld, "free": cmdFree,
		"login": cmdLogin, "script": cmdScript, "ignite": cmdIgnite,
		"tree": cmdTree, "same": cmdSame, "clean": cmdClean,
		"fault": cmdFault, "hit": cmdHit, "resume": cmdResume, "crash": cmdCrash, "pursue": cmdPursue, "smalldisk": cmdSmallDisk, "siege": cmdSiege, "repeat": cmdRepeat, "toll": cmdToll,
		"authority": cmdAuthority, "redate": cmdRedate, "leader": cmdLeader, "healthy": cmdHealthy, "watch": cmdWatch, "avoid": cmdAvoid, "unwatch": cmdUnwatch,
		"numbers": cmdNumbers, "killeach": cmdKillEach,
		"kubectl": cmdKubectl, "cluster": cmdCluster, "judges": cmdJudges, "api": cmdAPI, "kubelet": cmdKubelet, "budgets": cmdBudgets,
	}
}

func isMet(condition string) (bool, error) {
	switch condition {
	case "slow-disks":
	case "kubernetes":
		_, err := kubernetes.FindPrograms()
		if errors.Is(err, kubernetes.ErrNotBuilt) {
			return false, nil
		}
		return err == nil, err
	default:
		return false, fmt.Errorf("unknown condition %q", condition)
	}
	t, err := disk.OpenThrottle()
	if errors.Is(err, disk.ErrNoThrottle) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, t.Close()
}

func forEachHost(do func(*lab.Host, context.Context) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) == 0 {
			ts.Fatalf("usage: COMMAND HOST…")
		}
		s := stageOf(ts)
		for _, name := range args {
			ts.Check(do(s.findHost(ts, name), s.ctx))
		}
	}
}

func cmdOn(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] on HOST COMMAND")
	}
	s := stageOf(ts)
	err := ts.Exec(s.Self, "--dir", s.Lab.Dir(), "ssh", args[0], strings.Join(args[1:], " "))
	if err := checkExit(exitCode(ts, err), neg); err != nil {
		ts.Fatalf("on %s: %v", args[0], err)
	}
}

// checkExit returns an error unless a command on a host has ended as the script demands. With neg, the command itself must
// have failed: 255 is the exit code of ssh without a connection, -1 the one of an ssh that was killed, and a shell returns 126
// and 127 without a program to run.
func checkExit(code int, neg bool) error {
	switch {
	case neg && code == 0:
		return errors.New("the command succeeded")
	case neg && slices.Contains([]int{-1, 126, 127, 255}, code):
		return fmt.Errorf("the command did not run, or its end is unknown: exit code %d", code)
	case !neg && code != 0:
		return fmt.Errorf("exit code %d", code)
	}
	return nil
}

func (s *stage) asRoot(h *lab.Host, script string) error {
	_, err := h.Output(s.ctx, rootCommand("set -eu\n"+script))
	return err
}

func rootCommand(script string) string {
	return "echo " + base64.StdEncoding.EncodeToString([]byte(script)) + " | base64 -d | sudo sh"
}

func cmdPower(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: power on|off|lossy|soft|reset HOST…")
	}
	s := stageOf(ts)
	for _, name := range args[1:] {
		ts.Check(s.findHost(ts, name).Power(s.ctx, lab.Power(args[0])))
	}
}

func cmdMains(ts *testscript.TestScript, neg bool, args []string) {
	verbs := map[string]func(*lab.Host, context.Context) error{"cut": (*lab.Host).CutMains, "back": (*lab.Host).RestoreMains}
	if neg || len(args) < 2 || verbs[args[0]] == nil {
		ts.Fatalf("usage: mains cut|back HOST…")
	}
	forEachHost(verbs[args[0]])(ts, neg, args[1:])
}

func cmdClients(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "clients")
	s := stageOf(ts)
	ts.Check(image.InstallRedfishClients(s.ctx, ts.Logf))
}

func cmdUp(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: up [os] HOST…")
	}
	s := stageOf(ts)
	osOnly := args[0] == "os"
	if osOnly {
		args = args[1:]
	}
	for _, name := range args {
		h := s.findHost(ts, name)
		ts.Check(h.WaitUp(s.ctx, ""))
		if h.Cluster != "" && !osOnly {
			ts.Check(h.WaitEtcd(s.ctx))
		}
	}
}

func cmdSlow(ts *testscript.TestScript, neg bool, args []string) {
	writesOnly := len(args) > 0 && args[0] == "writes"
	if writesOnly {
		args = args[1:]
	}
	requireArgs(ts, neg, args, "slow HOST BYTES")
	s := stageOf(ts)
	ts.Check(s.findHost(ts, args[0]).Slow(s.ctx, disk.Speed{BytesPerSecond: parseNumber(ts, args[1]), WritesOnly: writesOnly}))
}

func cmdPost(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "post HOST DURATION")
	d, err := time.ParseDuration(args[1])
	ts.Check(err)
	s := stageOf(ts)
	ts.Check(s.findHost(ts, args[0]).SetPost(s.ctx, d))
}

// cmdCommit makes a version with the kernel of version 1.0, unless an earlier scenario has made it, and sets a variable to its commit.
func cmdCommit(ts *testscript.TestScript, neg bool, args []string) {
	otherEtcd := len(args) == 3 && args[2] == "etcd"
	if neg || len(args) != 2 && !otherEtcd {
		ts.Fatalf("usage: commit NAME VERSION [etcd]")
	}
	s := stageOf(ts)
	versions, err := s.Lab.Versions()
	ts.Check(err)
	i := slices.IndexFunc(versions, func(v image.Version) bool { return v.Version == args[1] })
	if i >= 0 {
		ts.Setenv(args[0], versions[i].Commit)
		return
	}
	commit, err := s.Lab.Commit(s.ctx, args[1], image.Changes{Payload: image.EqualFiles(5 << 20), SameKernel: true, OtherEtcd: otherEtcd})
	ts.Check(err)
	ts.Setenv(args[0], commit)
}

func cmdRepository(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "repository fast|stop|BYTES")
	s := stageOf(ts)
	switch args[0] {
	case "stop":
		ts.Check(s.Lab.StopServing(s.ctx))
	case "fast":
		ts.Check(s.Lab.Serve(s.ctx, 0))
	default:
		ts.Check(s.Lab.Serve(s.ctx, int(parseNumber(ts, args[0]))))
	}
}
