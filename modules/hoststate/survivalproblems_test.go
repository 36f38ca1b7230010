package hoststate

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// TestSurvivalProblems: the facts name the obstacle of each service that is to survive soft reboots and does not.
func TestSurvivalProblems(t *testing.T) {
	const running = "LoadState=loaded\nType=simple\nRoot=1\nHostRoot=1\nMounts=mnt:[2]\nHostMounts=mnt:[1]\n" + survivingShow
	// Before the drop-in, a service has the dependencies of any service.
	const before = "Id=app.service\nForetold=yes\nLoadState=loaded\nType=simple\nMainPID=7\nSurviveFinalKillSignal=no\nIgnoreOnIsolate=no\nPrivateMounts=no\n" +
		"Conflicts=shutdown.target\nRequires=system.slice sysinit.target tmp.mount -.mount\nBindsTo=\nPartOf=\nRoot=1\nHostRoot=1\nMounts=mnt:[1]\nHostMounts=mnt:[1]\n"
	for name, c := range map[string]struct {
		text, old, replacement string
		want                   engine.SurvivalProblem
	}{
		"survives":               {running, "", "", engine.SurvivalProblem{}},
		"will survive":           {before, "", "", engine.SurvivalProblem{}},
		"old systemd":            {running, "SurviveFinalKillSignal=yes\n", "", engine.SurvivalProblem{Obstacle: engine.SurvivesTooOld}},
		"overridden":             {running, "IgnoreOnIsolate=yes", "IgnoreOnIsolate=no", engine.SurvivalProblem{Obstacle: engine.SurvivalOverridden}},
		"oneshot":                {before, "Type=simple", "Type=oneshot", engine.SurvivalProblem{Obstacle: engine.SurvivesOneshot}},
		"image":                  {before, "Type=simple", "Type=simple\nRootImage=/var/app.raw", engine.SurvivalProblem{Obstacle: engine.SurvivesOwnRoot}},
		"root folder":            {running, "Type=simple", "Type=simple\nRootDirectory=/var/app", engine.SurvivalProblem{Obstacle: engine.SurvivesOwnRoot}},
		"its root is the host's": {running, "Type=simple", "Type=simple\nRootDirectory=/", engine.SurvivalProblem{}},
		"default conflict":       {running, "Conflicts=", "Conflicts=shutdown.target ", engine.SurvivalProblem{Obstacle: engine.SurvivalConflict, Other: "shutdown.target"}},
		"conflict":               {before, "Conflicts=", "Conflicts=umount.target ", engine.SurvivalProblem{Obstacle: engine.SurvivalConflict, Other: "umount.target"}},
		"mount":                  {before, "Requires=", "Requires=data.mount ", engine.SurvivalProblem{Obstacle: engine.SurvivalNeeds, Other: "data.mount"}},
		"private /tmp":           {running, "Requires=", "Requires=tmp.mount ", engine.SurvivalProblem{Obstacle: engine.SurvivalNeeds, Other: "tmp.mount"}},
		"bound":                  {before, "BindsTo=", "BindsTo=db.service", engine.SurvivalProblem{Obstacle: engine.SurvivalNeeds, Other: "db.service"}},
		"hostile name":           {before, "BindsTo=", "BindsTo=\x1b[2J", engine.SurvivalProblem{Obstacle: engine.SurvivalNeeds, Other: `\x1b[2J`}},
		"older process":          {running, "Mounts=mnt:[2]", "Mounts=mnt:[1]", engine.SurvivalProblem{Obstacle: engine.SurvivalNotStarted}},
		"socket":                 {before, "Foretold=yes", "Foretold=yes\nStoppedSocket=app.socket", engine.SurvivalProblem{Obstacle: engine.SurvivalSocket, Other: "app.socket"}},
		"no such service":        {before, "LoadState=loaded", "LoadState=not-found", engine.SurvivalProblem{}},
	} {
		f := readSurvivors(strings.Replace(c.text, c.old, c.replacement, 1), engine.Facts{})
		var want []engine.SurvivalProblem
		if c.want.Obstacle != "" {
			c.want.Unit = "etcd.service"
			if strings.Contains(c.text, "Foretold") {
				c.want.Unit = "app.service"
			}
			want = append(want, c.want)
		}
		if !slices.Equal(f.SurvivalProblems, want) {
			t.Errorf("%s: %q, want %q", name, f.SurvivalProblems, want)
		}
		if foretold := strings.Contains(c.text, "Foretold"); foretold == (len(f.Survivors) > 0) {
			t.Errorf("%s: survivors %+v", name, f.Survivors)
		}
	}
}

// TestWantedSurvivors: the probe asks about services that are to get the drop-in, and about their sockets.
func TestWantedSurvivors(t *testing.T) {
	d := engine.Desired{Config: &resource.Config{Units: []resource.Unit{
		{Name: "app.service", Dropins: []resource.Dropin{{Name: engine.KeepDropin}}},
		{Name: "new.service", Contents: "[Service]", Dropins: []resource.Dropin{{Name: engine.KeepDropin}}},
		{Name: "other.service", Dropins: []resource.Dropin{{Name: "10-x.conf"}}},
	}}}
	if got := wantedSurvivors(d); !slices.Equal(got, []string{"app.service"}) {
		t.Errorf("%q", got)
	}
	b := survivorBox(t, "", "now", "")
	b.Remove("etc/systemd/system/etcd.service.d/51-holdfast-settings.conf")
	b.Write("home/bin/systemctl", `#!/bin/sh
case $* in
*app.service) printf '%s\n' Id=app.service LoadState=loaded Type=simple MainPID=0 SurviveFinalKillSignal=no 'TriggeredBy=app.socket app.timer bad$(x).socket own.socket' ;;
*own.socket) echo reboot.target ;;
*app.socket) echo 'shutdown.target reboot.target' ;;
*) echo "asked for $*" >&2 ;;
esac`)
	f := probeSurvivorsOf(b, d)
	if want := []engine.SurvivalProblem{{Unit: "app.service", Obstacle: engine.SurvivalSocket, Other: "app.socket"}}; !slices.Equal(f.SurvivalProblems, want) || len(f.Survivors) > 0 {
		t.Errorf("%+v", f)
	}
}
