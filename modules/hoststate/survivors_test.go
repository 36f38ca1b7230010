package hoststate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/modules/moduletest"
)

const survivingShow = "Id=etcd.service\nMainPID=160\nSurviveFinalKillSignal=yes\nIgnoreOnIsolate=yes\nPrivateMounts=yes\nRequires=system.slice -.mount\n" +
	"Conflicts=reboot.target kexec.target poweroff.target halt.target rescue.target emergency.target\nBindsTo=\nPartOf=\n"

// survivorBox is a host whose etcd has the drop-in, and runs from a deployment.
func survivorBox(t *testing.T, show, root, deployment string) *moduletest.Box {
	t.Helper()
	b := moduletest.NewBox(t)
	b.Write("etc/systemd/system/etcd.service.d/51-holdfast-settings.conf", "[Unit]\nSurviveFinalKillSignal=yes")
	b.Mkdir("roots/now")
	b.Mkdir("roots/before")
	for pid, link := range map[string]string{"1": "now", "160": root} {
		b.Mkdir("proc/" + pid + "/ns")
		b.Check(os.Symlink(filepath.Join(b.Root, "roots", link), filepath.Join(b.Root, "proc", pid, "root")))
		b.Check(os.Symlink("mnt:["+pid+"]", filepath.Join(b.Root, "proc", pid, "ns/mnt")))
	}
	b.Write("proc/160/mountinfo", "1 1 0:40 / / ro - overlay composefs ro\n2 1 0:20 "+deployment+" /etc rw - ext4 /dev/x rw")
	b.Mkdir("home/bin")
	b.Write("home/bin/systemctl", "#!/bin/sh\ncat <<'END'\n"+show+"END\n")
	b.Check(os.Chmod(b.Root+"/home/bin/systemctl", 0o755))
	return b
}

func probeSurvivors(b *moduletest.Box) engine.Facts { return probeSurvivorsOf(b, engine.Desired{}) }

func probeSurvivorsOf(b *moduletest.Box, d engine.Desired) engine.Facts {
	for _, c := range (observer{}).Probe(d) {
		if c.Name == "survivors" {
			var paths []string
			for _, path := range []string{"/etc/systemd/system", "/proc/$pid/", "/proc/$1/", "/proc/1/"} {
				paths = append(paths, path, b.Root+path)
			}
			out := b.Run("PATH=" + b.Root + "/home/bin:$PATH\n" + strings.NewReplacer(paths...).Replace(c.Script))
			if out.Code != 0 {
				b.T.Errorf("%+v", out)
			}
			return observer{}.Read(engine.Desired{}, engine.Outputs{"survivors": out}, engine.Facts{})
		}
	}
	return engine.Facts{}
}

// TestSurvivors: the facts name a service with the drop-in, whether its process survives the next soft reboot, and the
// deployment that it runs from.
func TestSurvivors(t *testing.T) {
	const id = moduletest.V1 + ".0"
	const here, gone = "/ostree/deploy/lab/deploy/" + id + "/etc", "/ostree/deploy/lab/deploy/" + id + "/etc//deleted"
	replace := func(old, replacement string) string { return strings.Replace(survivingShow, old, replacement, 1) }
	for name, c := range map[string]struct {
		show, root, deployment string
		want                   engine.Survivor
	}{
		"survives":           {survivingShow, "now", here, engine.Survivor{Survives: true, Deployment: id}},
		"runs from before":   {survivingShow, "before", here, engine.Survivor{Survives: true, Outdated: true, Deployment: id}},
		"deployment is gone": {survivingShow, "before", gone, engine.Survivor{Survives: true, Outdated: true, Deployment: id}},
		"no deployment":      {survivingShow, "before", "/deploy/../../x", engine.Survivor{Survives: true, Outdated: true}},
		"old systemd":        {replace("SurviveFinalKillSignal=yes\n", ""), "now", here, engine.Survivor{Deployment: id}},
		"default stop":       {replace("Conflicts=", "Conflicts=shutdown.target "), "now", here, engine.Survivor{Deployment: id}},
		"no own mounts":      {replace("PrivateMounts=yes", "PrivateMounts=no"), "now", here, engine.Survivor{Deployment: id}},
		"needs a disk":       {replace("-.mount", "disk.mount"), "now", here, engine.Survivor{Deployment: id}},
		"bound to a unit":    {replace("BindsTo=", "BindsTo=x.service"), "now", here, engine.Survivor{Deployment: id}},
	} {
		f := probeSurvivors(survivorBox(t, c.show, c.root, c.deployment))
		c.want.Unit = "etcd.service"
		if !slices.Equal(f.Survivors, []engine.Survivor{c.want}) {
			t.Errorf("%s: %+v", name, f.Survivors)
		}
	}
	kept := survivorBox(t, strings.Replace(survivingShow, "etcd", "app", 1), "before", here)
	kept.Remove("etc/systemd/system/etcd.service.d/51-holdfast-settings.conf")
	kept.Write("etc/systemd/system/app.service.d/"+engine.KeepDropin, "[Unit]\nSurviveFinalKillSignal=yes")
	if f := probeSurvivors(kept); !slices.Equal(f.Survivors, []engine.Survivor{{Unit: "app.service", Survives: true, Outdated: true, Deployment: id}}) {
		t.Errorf("a service that its pool keeps: %+v", f.Survivors)
	}
	shared := survivorBox(t, survivingShow, "now", here)
	shared.Remove("proc/160/ns/mnt")
	shared.Check(os.Symlink("mnt:[1]", filepath.Join(shared.Root, "proc/160/ns/mnt")))
	if f := probeSurvivors(shared); len(f.Survivors) != 1 || f.Survivors[0].Survives {
		t.Errorf("not restarted since the drop-in: %+v", f.Survivors)
	}
	if f := probeSurvivors(survivorBox(t, replace("MainPID=160", "MainPID=0"), "now", here)); len(f.Survivors) > 0 {
		t.Errorf("it does not run: %+v", f.Survivors)
	}
	unknown := survivorBox(t, survivingShow, "now", here)
	unknown.Remove("proc/160/root")
	if f := probeSurvivors(unknown); len(f.Survivors) != 1 || f.Survivors[0].Survives || f.Survivors[0].Outdated || !slices.ContainsFunc(f.Problems, func(p string) bool { return strings.HasPrefix(p, "survivors: ") }) {
		t.Errorf("unknown root: %+v, %q", f.Survivors, f.Problems)
	}
}

// TestNoSurvivors: a host without the drop-in, or with other settings in it, has none, and the probe asks systemd nothing.
func TestNoSurvivors(t *testing.T) {
	for _, text := range []string{"", "[Service]\nUser=etcd"} {
		b := survivorBox(t, "", "now", "")
		b.Remove("etc/systemd/system/etcd.service.d/51-holdfast-settings.conf")
		if text != "" {
			b.Write("etc/systemd/system/etcd.service.d/51-holdfast-settings.conf", text)
		}
		b.Write("home/bin/systemctl", "#!/bin/sh\necho asked >&2\nexit 1")
		if f := probeSurvivors(b); len(f.Survivors) > 0 || slices.ContainsFunc(f.Problems, func(p string) bool { return strings.HasPrefix(p, "survivors") }) {
			t.Errorf("%q: %+v, %q", text, f.Survivors, f.Problems)
		}
	}
}

// TestHostileSurvivors: a host can print anything.
func TestHostileSurvivors(t *testing.T) {
	f := readSurvivors("Id=*.service\nMainPID=1\nRoot=1\n\nId=\x1b[2J\nMainPID=1\nRoot=1\n\n"+strings.Repeat("Id=x.service\nMainPID=1\nRoot=1\nHostRoot=2\nDeployment=/deploy/\x1b[2J/etc\n\n", 1000), engine.Facts{})
	list, problems := f.Survivors, f.Problems
	if len(list) != maxSurvivors || len(problems) > 0 || list[0].Unit != "x.service" || list[0].Deployment != "" {
		t.Errorf("%d, %+v, %q", len(list), list[0], problems)
	}
}
