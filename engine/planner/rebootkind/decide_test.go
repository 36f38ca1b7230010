package rebootkind

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/rules"
)

const (
	nowOS  = "1111111111111111111111111111111111111111111111111111111111111111"
	nextOS = "2222222222222222222222222222222222222222222222222222222222222222"
)

// capable are the facts of a host that can soft reboot, and that has staged the next OS.
func capable() engine.Facts {
	return engine.Facts{
		Tool:    "ostree 2026.4",
		Reboots: engine.RebootFacts{Systemd: 262, CountsSoft: true, Composefs: true, PreparesSoft: true, KeepsMounts: true, KeepsBoot: true, Kexec: engine.KexecPossible},
		Deployments: []engine.Deployment{
			{Digest: nextOS, Staged: true, Locked: true, Compared: true}, {Digest: nowOS, Booted: true},
		},
	}
}

func change(class string) engine.Change {
	return engine.Change{Resource: "x of " + class, RebootClass: class, Actions: []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}}}
}

func input(classes ...string) Input {
	in := Input{Allowed: engine.RebootSetting{Soft: engine.AutoSoft}, OS: &engine.OS{Driver: "ostree", Commit: nextOS}, Facts: capable()}
	for _, c := range classes {
		in.Changes = append(in.Changes, change(c))
	}
	return in
}

// TestDecide names the kind of reboot of hosts and changes of every sort, with the reason.
func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		in     Input
		edit   func(*Input)
		kind   engine.RebootKind
		reason string
	}{
		"files":            {input("other files"), nil, engine.SoftReboot, "read it"},
		"accounts, units":  {input("accounts", "other units"), nil, engine.SoftReboot, ""},
		"same kernel":      {input(rules.OSImageClass), nil, engine.SoftReboot, "the new OS has the kernel that runs"},
		"OS and arguments": {input(rules.OSImageClass, rules.KernelArgsClass), nil, engine.FullReboot, "x of kernel arguments: the kernel reads its arguments when it boots"},
		"another kernel": {input(rules.OSImageClass), func(in *Input) {
			in.Facts.Deployments[0].Differs = []string{"/usr/lib/modules/6.1", "/usr/lib/modules/6.2"}
		}, engine.FullReboot, "/usr/lib/modules/6.2 differs in the new OS: a soft reboot keeps the running kernel"},
		"another policy": {input(rules.OSImageClass), func(in *Input) { in.Facts.Deployments[0].Differs = []string{"/usr/etc/selinux"} }, engine.FullReboot, "/usr/etc/selinux differs in the new OS: a soft reboot keeps the policy"},
		"not compared":   {input(rules.OSImageClass), func(in *Input) { in.Facts.Deployments[0].Compared = false }, engine.FullReboot, "could not be compared"},
		"no composefs":   {input(rules.OSImageClass), func(in *Input) { in.Facts.Reboots.Composefs = false }, engine.FullReboot, "no composefs"},
		"files without":  {input("other files"), func(in *Input) { in.Facts.Reboots.Composefs = false }, engine.SoftReboot, ""},
		"Debian 13":      {input("other files"), func(in *Input) { in.Facts.Reboots.Ostree, in.Facts.Reboots.PreparesSoft = "ostree 2025.2", false }, engine.FullReboot, "ostree 2025.2 cannot prepare a soft reboot; ostree 2025.3 can"},
		"Debian 12":      {input("other files"), func(in *Input) { in.Facts.Reboots.Systemd, in.Facts.Reboots.CountsSoft = 252, false }, engine.FullReboot, "systemd 252 does not count soft reboots"},
		"Debian 13, staged": {input(rules.OSImageClass), func(in *Input) {
			in.Facts.Reboots.Ostree, in.Facts.Reboots.PreparesSoft, in.Facts.Deployments[0].Compared = "ostree 2025.2", false, false
		}, engine.FullReboot, "ostree 2025.2 cannot prepare a soft reboot"},
		"no composefs, staged": {input(rules.OSImageClass), func(in *Input) {
			in.Facts.Reboots.Composefs, in.Facts.Deployments[0].Compared = false, false
		}, engine.FullReboot, "no composefs"},
		"encrypted":        {input(rules.OSImageClass), func(in *Input) { in.Facts.Reboots.ClosesDisk = "systemd-cryptsetup@luks.service" }, engine.FullReboot, "systemd-cryptsetup@luks.service would close the encrypted disk of its OS in a soft reboot; add the option x-initrd.attach"},
		"iSCSI":            {input(rules.OSImageClass), func(in *Input) { in.Facts.Reboots.RemoteDisk = "sda" }, engine.FullReboot, "its OS is on the network (sda), and a soft reboot may cut the connection"},
		"encrypted, files": {input("other files"), func(in *Input) { in.Facts.Reboots.ClosesDisk = "systemd-cryptsetup@luks.service" }, engine.FullReboot, "would close the encrypted disk"},
		"ostree 2025.7":    {input("other files"), func(in *Input) { in.Facts.Reboots.Ostree, in.Facts.Reboots.KeepsMounts = "ostree 2025.7", false }, engine.FullReboot, "ostree 2025.7 may lose /sysroot, /var or /boot in a soft reboot into the running OS; ostree 2026.1 keeps them"},
		"2025.7, staged":   {input(rules.OSImageClass), func(in *Input) { in.Facts.Reboots.KeepsMounts = false }, engine.SoftReboot, ""},
		"no partition":     {input(rules.OSImageClass), func(in *Input) { in.Facts.Reboots.Ostree, in.Facts.Reboots.KeepsBoot = "ostree 2025.4", false }, engine.FullReboot, "its /boot is no partition, and ostree 2025.4 loses it in a soft reboot; ostree 2025.5 keeps it"},
		"no version":       {input("other files"), func(in *Input) { in.Facts.Reboots = engine.RebootFacts{} }, engine.FullReboot, "systemd is not known"},
		"no os block":      {input("other files"), func(in *Input) { in.OS = nil }, engine.FullReboot, "no os block"},
		"rpm-ostree":       {input("os image"), func(in *Input) { in.OS.Driver = "rpm-ostree" }, engine.SoftReboot, "the new OS has the kernel that runs"},
		"bootc":            {input("os image"), func(in *Input) { in.OS.Driver = "bootc" }, engine.SoftReboot, "the new OS has the kernel that runs"},
		"bootc refuses": {input("os image"), func(in *Input) {
			in.OS.Driver, in.Facts.Deployments[0].NoSoftTarget = "bootc", true
		}, engine.FullReboot, "bootc does not report that the host can soft reboot"},
		"composefs-rs":  {input("other files"), func(in *Input) { in.OS.Driver, in.Facts.Reboots.NoOstree = "bootc", true }, engine.FullReboot, "ostree does not keep its deployments"},
		"no ostree":     {input("other files"), func(in *Input) { in.Facts.Reboots.PreparesSoft = false }, engine.FullReboot, "its ostree cannot prepare a soft reboot"},
		"soft prepared": {input("other files"), func(in *Input) { in.Facts.Reboots.Prepared = engine.SoftReboot }, engine.FullReboot, "a soft reboot is prepared on it already"},
		"kernel loaded": {input("other files"), func(in *Input) { in.Facts.Reboots.Prepared = engine.KexecReboot }, engine.FullReboot, "a kernel is loaded on it for a kexec"},
		"task":          {input("other files"), func(in *Input) { in.Changes[0].Task = true }, engine.FullReboot, "playbook"},
		"unknown class": {input(""), nil, engine.FullReboot, "nothing is known"},
		"never":         {input("other files"), func(in *Input) { in.Allowed.Soft = engine.NeverSoft }, engine.FullReboot, "the pool allows no other kind"},
		"--full-reboot": {input("other files"), func(in *Input) { in.ForceFull, in.Allowed.Soft = true, engine.RequireSoft }, engine.FullReboot, "--full-reboot"},
		"required":      {input("other files"), func(in *Input) { in.Allowed.Soft = engine.RequireSoft }, engine.SoftReboot, ""},
	} {
		if c.edit != nil {
			c.edit(&c.in)
		}
		d := Decide(c.in)
		if d.Reboot == nil || d.Refusal != "" {
			t.Errorf("%s: %+v", name, d)
			continue
		}
		if d.Reboot.Kind != c.kind || !strings.Contains(d.Reboot.Reason, c.reason) || d.Reboot.Provisional {
			t.Errorf("%s: %+v, want %s with %q", name, *d.Reboot, c.kind, c.reason)
		}
	}
}

// TestKexec names the kind of reboot in pools that allow kexecs, with the reason.
func TestKexec(t *testing.T) {
	otherKernel := func(in *Input) { in.Facts.Deployments[0].Differs = []string{"/usr/lib/modules/6.2"} }
	support := func(s engine.KexecSupport) func(*Input) {
		return func(in *Input) { otherKernel(in); in.Facts.Reboots.Kexec = s }
	}
	const soft, kexec, full = engine.SoftReboot, engine.KexecReboot, engine.FullReboot
	for name, c := range map[string]struct {
		in           Input
		edit         func(*Input)
		both, only   engine.RebootKind // with soft reboots and kexecs, and with kexecs only
		reason, what string            // of each
	}{
		"files":            {input("other files"), nil, soft, kexec, "read it", "the pool allows no soft reboots"},
		"same kernel":      {input(rules.OSImageClass), nil, soft, kexec, "the new OS has the kernel that runs", "no soft reboots"},
		"another kernel":   {input(rules.OSImageClass), otherKernel, kexec, kexec, "/usr/lib/modules/6.2 differs in the new OS", "/usr/lib/modules/6.2 differs"},
		"arguments":        {input(rules.KernelArgsClass), nil, kexec, kexec, "reads its arguments when it boots", "reads its arguments"},
		"OS and arguments": {input(rules.OSImageClass, rules.KernelArgsClass), nil, kexec, kexec, "reads its arguments", "reads its arguments"},
		"network":          {input(rules.KernelArgsClass, "network"), nil, full, full, "a changed network always gets a full reboot", "always gets a full reboot"},
		"boot loader":      {input("boot loader"), nil, full, full, "boot loader", "boot loader"},
		"firmware of the OS": {input(rules.OSImageClass), func(in *Input) {
			in.Facts.Deployments[0].Differs = []string{"/usr/lib/firmware", "/usr/lib/modules/6.2"}
		}, full, full, "/usr/lib/firmware differs in the new OS", "/usr/lib/firmware"},
		"not compared":     {input(rules.OSImageClass, rules.KernelArgsClass), func(in *Input) { in.Facts.Deployments[0].Compared = false }, full, full, "could not be compared", "could not be compared"},
		"no composefs":     {input(rules.OSImageClass), func(in *Input) { in.Facts.Reboots.Composefs = false }, kexec, kexec, "no composefs", "no soft reboots"},
		"no support":       {input("other files"), func(in *Input) { in.Facts.Reboots.Kexec = engine.KexecNoKernel }, soft, full, "read it", "CONFIG_KEXEC_CORE"},
		"not known":        {input(rules.OSImageClass), support(""), full, full, "nothing shows whether", "nothing shows whether"},
		"container":        {input(rules.OSImageClass), support(engine.KexecContainer), full, full, "container", "container"},
		"disabled":         {input(rules.OSImageClass), support(engine.KexecDisabled), full, full, "kexec_load_disabled", "kexec_load_disabled"},
		"lockdown":         {input(rules.OSImageClass), support(engine.KexecLockdown), full, full, "locked down", "locked down"},
		"no tool":          {input(rules.OSImageClass), support(engine.KexecNoTool), full, full, "kexec-tools", "kexec-tools"},
		"systemd 252":      {input(rules.OSImageClass), func(in *Input) { otherKernel(in); in.Facts.Reboots.Systemd, in.Facts.Reboots.CountsSoft = 252, false }, full, full, "systemd 252", "no unit of systemd 252 can order a kexec; systemd 254 can"},
		"loaded by others": {input("other files"), func(in *Input) { in.Facts.Reboots.Prepared = kexec }, full, full, "a kernel is loaded on it", "a kernel is loaded on it"},
		"bootc":            {input("other files"), func(in *Input) { in.OS.Driver = "bootc" }, soft, full, "read it", "holdfast kexecs only hosts"},
		"--full-reboot":    {input(rules.KernelArgsClass), func(in *Input) { in.ForceFull = true }, full, full, "--full-reboot", "--full-reboot"},
	} {
		if c.edit != nil {
			c.edit(&c.in)
		}
		c.in.Allowed.Kexec = engine.AutoKexec
		d := Decide(c.in)
		c.in.Allowed.Soft = engine.NeverSoft
		only := Decide(c.in)
		if d.Reboot == nil || only.Reboot == nil || d.Refusal+only.Refusal != "" {
			t.Errorf("%s: %+v, %+v", name, d, only)
			continue
		}
		if d.Reboot.Kind != c.both || !strings.Contains(d.Reboot.Reason, c.reason) || d.Reboot.Provisional {
			t.Errorf("%s: %+v, want %s with %q", name, *d.Reboot, c.both, c.reason)
		}
		if only.Reboot.Kind != c.only || !strings.Contains(only.Reboot.Reason, c.what) || only.Reboot.Provisional || !only.Reboot.Chosen {
			t.Errorf("%s, no soft reboots: %+v, want %s with %q", name, *only.Reboot, c.only, c.what)
		}
	}
}

// TestKexecBeforeStaging checks that the decision is provisional as long as the parts of the new OS are not known.
func TestKexecBeforeStaging(t *testing.T) {
	for _, classes := range [][]string{{rules.OSImageClass}, {rules.OSImageClass, rules.KernelArgsClass}} {
		in := input(classes...)
		in.Allowed = engine.RebootSetting{Kexec: engine.AutoKexec}
		in.Facts.Deployments = in.Facts.Deployments[1:]
		if d := Decide(in); d.Reboot == nil || d.Reboot.Kind != engine.KexecReboot || !d.Reboot.Provisional || !strings.Contains(d.Reboot.Reason, "enough unless the new OS needs a full reboot") {
			t.Errorf("%q: %+v", classes, d.Reboot)
		}
	}
}

// TestBeforeStaging checks that the decision about an OS whose kernel nobody knows yet is
// provisional, also for a pool that requires soft reboots: the host is staged first.
func TestBeforeStaging(t *testing.T) {
	for _, mode := range []engine.SoftRebootMode{engine.AutoSoft, engine.RequireSoft} {
		for name, edit := range map[string]func(*engine.Facts){
			"nothing staged": func(f *engine.Facts) { f.Deployments = f.Deployments[1:] },
			"another OS":     func(f *engine.Facts) { f.Deployments[0].Digest = nowOS },
			"not locked":     func(f *engine.Facts) { f.Deployments[0].Locked = false },
		} {
			in := input(rules.OSImageClass)
			in.Allowed.Soft = mode
			edit(&in.Facts)
			if d := Decide(in); d.Reboot == nil || d.Reboot.Kind != engine.SoftReboot || !d.Reboot.Provisional {
				t.Errorf("%s, %s: %+v", name, mode, d)
			}
		}
	}
}

// TestRequire checks that a host that would need a full reboot is left out, with reason and next step.
func TestRequire(t *testing.T) {
	in := input(rules.OSImageClass)
	in.Allowed.Soft, in.Facts.Deployments[0].Differs = engine.RequireSoft, []string{"/usr/lib/modules/6.2"}
	d := Decide(in)
	for _, want := range []string{"requires soft reboots", "/usr/lib/modules/6.2 differs", "--full-reboot"} {
		if d.Reboot != nil || !strings.Contains(d.Refusal, want) {
			t.Errorf("no %q in %+v", want, d)
		}
	}
}

// TestPrepared checks that a plan names the reboot that somebody else has prepared, whatever the pool
// allows, and that a refusal has the command that undoes it.
func TestPrepared(t *testing.T) {
	for _, mode := range []engine.SoftRebootMode{engine.NeverSoft, engine.AutoSoft} {
		in := input("other files")
		in.Allowed.Soft, in.Facts.Reboots.Prepared, in.Facts.Deployments[0].SoftTarget = mode, engine.SoftReboot, true
		if r := Decide(in).Reboot; r.Kind != engine.FullReboot || r.Prepared != engine.SoftReboot || r.PreparedOS != nextOS || !strings.Contains(r.DescribePrepared(), "into 222222222222 on it") {
			t.Errorf("%q: %+v", mode, r)
		}
		in.Facts.Reboots.Prepared = engine.KexecReboot
		if r := Decide(in).Reboot; r.Kind != engine.FullReboot || r.Prepared != engine.KexecReboot || r.PreparedOS != "" {
			t.Errorf("%q: %+v", mode, r)
		}
	}
	in := input("other files")
	in.Allowed.Soft, in.Facts.Reboots.Prepared = engine.RequireSoft, engine.SoftReboot
	if d := Decide(in); !strings.Contains(d.Refusal, "prepare-soft-reboot --reset 0 undoes; allow a full one") {
		t.Errorf("%+v", d)
	}
}

// TestLeast checks that a pool that allows only full reboots shows that a soft one would be enough.
func TestLeast(t *testing.T) {
	in := input("other files")
	in.Allowed.Soft = engine.NeverSoft
	if d := Decide(in); d.Reboot.Least != engine.SoftReboot || d.Reboot.Kind != engine.FullReboot {
		t.Errorf("%+v", d.Reboot)
	}
	in.Changes = append(in.Changes, change(rules.KernelArgsClass))
	if d := Decide(in); d.Reboot.Least != engine.KexecReboot || d.Reboot.Chosen {
		t.Errorf("%+v", d.Reboot)
	}
	in.Facts.Reboots.Kexec = engine.KexecNoTool
	if d := Decide(in); d.Reboot.Least != engine.FullReboot {
		t.Errorf("%+v", d.Reboot)
	}
	in.Changes = []engine.Change{{Resource: "file /etc/motd", RebootClass: "other files", Actions: []engine.Action{{Type: engine.NoAction}}}}
	if d := Decide(in); d.Reboot != nil || d.Refusal != "" {
		t.Errorf("nothing reboots the host: %+v", d)
	}
}

func drawInput(t *rapid.T) Input {
	often := func(name string) bool { return rapid.IntRange(0, 19).Draw(t, name) < 18 }
	classes := []string{"os image", "other files", "other units", "accounts", "os image", "other files", "other units", "accounts", ""}
	for _, c := range rules.RebootClasses() {
		classes = append(classes, c.Name)
	}
	if rapid.Bool().Draw(t, "harmless") {
		classes = classes[:4]
	}
	in := input(rapid.SliceOfN(rapid.SampledFrom(classes), 0, 4).Draw(t, "classes")...)
	in.Allowed.Soft = rapid.SampledFrom([]engine.SoftRebootMode{engine.NeverSoft, engine.AutoSoft, engine.RequireSoft}).Draw(t, "mode")
	in.ForceFull = !often("no force")
	for i := range in.Changes {
		in.Changes[i].Task = !often("no task")
		if !often("reboot") {
			in.Changes[i].Actions = []engine.Action{{Type: engine.ReloadUnit, Unit: "x.service"}}
		}
	}
	in.Allowed.Kexec = rapid.SampledFrom([]engine.KexecMode{engine.NeverKexec, engine.AutoKexec}).Draw(t, "kexec")
	in.Facts.Reboots = engine.RebootFacts{CountsSoft: often("counts"), Composefs: often("composefs"), PreparesSoft: often("prepares"), KeepsMounts: often("keeps mounts"), KeepsBoot: often("keeps boot"), NoOstree: !often("ostree"), Kexec: engine.KexecPossible, Systemd: 262}
	if !often("open disk") {
		in.Facts.Reboots.ClosesDisk = "systemd-cryptsetup@root.service"
	}
	if !often("own disk") {
		in.Facts.Reboots.RemoteDisk = "sda"
	}
	if !often("can kexec") {
		in.Facts.Reboots.Kexec = rapid.SampledFrom([]engine.KexecSupport{"", engine.KexecLockdown, engine.KexecNoTool}).Draw(t, "support")
	}
	if !often("systemd") {
		in.Facts.Reboots.Systemd = rapid.SampledFrom([]int{0, 252, 254}).Draw(t, "version")
	}
	in.Facts.Reboots.Prepared = rapid.SampledFrom([]engine.RebootKind{"", "", "", engine.SoftReboot, engine.KexecReboot}).Draw(t, "prepared")
	staged := &in.Facts.Deployments[0]
	staged.Compared, staged.Locked, staged.Staged, staged.NoSoftTarget = often("compared"), often("locked"), often("staged"), !often("soft target")
	if !often("same") {
		staged.Differs = []string{rapid.SampledFrom(rules.OSParts()).Draw(t, "part")}
	}
	if !often("driver") {
		in.OS.Driver = rapid.SampledFrom([]string{"bootc", "rpm-ostree"}).Draw(t, "other driver")
	}
	if !often("os") {
		in.OS = nil
	}
	return in
}

// TestKexecLaws checks with a model that shares no code with Decide that no host kexecs where
// that is not enough, not possible or not allowed, or where less is enough.
func TestKexecLaws(t *testing.T) {
	kexecs := 0
	checkUntil(t, func() bool { return kexecs > 0 }, func(t *rapid.T) {
		in := drawInput(t)
		d := Decide(in)
		full := []string{"", "extensions", "boot loader", "network", "firmware", "storage", "soft reboot", "kexec", "task", "failed action", "unknown"}
		enough, brings := true, false
		for _, c := range in.Changes {
			if len(c.Actions) == 2 {
				enough = enough && !c.Task && !slices.Contains(full, c.RebootClass)
				brings = brings || c.RebootClass == "os image"
			}
		}
		s := in.Facts.Deployments[0]
		if brings && s.Staged && s.Locked && (!s.Compared || slices.ContainsFunc(s.Differs, func(p string) bool { return slices.Contains(full, rules.ClassOfOSPart(p).Name) })) {
			enough = false
		}
		r := in.Facts.Reboots
		possible := in.OS != nil && in.OS.Driver == "ostree" && r.Systemd >= 254 && r.Kexec == "possible" && r.Prepared == ""
		switch {
		case d.Reboot == nil:
		case d.Reboot.Kind == "kexec":
			kexecs++
			if !enough || !possible || in.ForceFull || in.Allowed.Kexec != "auto" || in.Allowed.Soft == "require" || in.Allowed.Soft == "auto" && d.Reboot.Least == "soft" {
				t.Fatalf("kexec: %+v", d.Reboot)
			}
		case d.Reboot.Kind == "full" && enough && possible && in.Allowed.Kexec == "auto" && !in.ForceFull:
			t.Fatalf("full: %+v", d.Reboot)
		case d.Reboot.Least == "kexec" && !(enough && possible):
			t.Fatalf("least: %+v", d.Reboot)
		}
	})
}

// checkUntil checks the property with random inputs, and with more of them until they have shown enough. The first ones
// may miss an outcome by chance.
func checkUntil(t *testing.T, enough func() bool, property func(*rapid.T)) {
	for range 100 {
		if rapid.Check(t, property); enough() {
			return
		}
	}
	t.Error("the inputs show too little")
}

// TestLaws checks with a model that shares no code with Decide that no host soft reboots where
// that is not enough, not possible or not allowed.
func TestLaws(t *testing.T) {
	soft, refused := 0, 0
	checkUntil(t, func() bool { return soft > 0 && refused > 0 }, func(t *rapid.T) {
		in := drawInput(t)
		d := Decide(in)
		harmless := []string{"os image", "other files", "other units", "accounts"}
		enough, brings, reboots := true, false, false
		for _, c := range in.Changes {
			if len(c.Actions) == 2 {
				reboots = true
				enough = enough && !c.Task && slices.Contains(harmless, c.RebootClass)
				brings = brings || c.RebootClass == "os image"
			}
		}
		r := in.Facts.Reboots
		possible := in.OS != nil && !r.NoOstree && r.CountsSoft && r.PreparesSoft && r.Prepared == "" && r.ClosesDisk == "" && r.RemoteDisk == "" && (brings && r.Composefs && r.KeepsBoot || !brings && r.KeepsMounts)
		s := in.Facts.Deployments[0]
		known := brings && s.Staged && s.Locked
		if known && (!s.Compared || len(s.Differs) > 0 || s.NoSoftTarget) {
			enough = false
		}
		switch {
		case !reboots:
			if d != (Decision{}) {
				t.Fatalf("nothing reboots: %+v", d)
			}
		case d.Reboot == nil:
			refused++
			if in.ForceFull || in.Allowed.Soft != "require" || enough && possible || d.Refusal == "" {
				t.Fatalf("left out: %+v", d)
			}
		case d.Reboot.Kind == "soft":
			soft++
			if !enough || !possible || in.ForceFull || in.Allowed.Soft == "" || d.Reboot.Provisional != (brings && !known) {
				t.Fatalf("soft: %+v", d.Reboot)
			}
		default:
			if in.Allowed.Soft != "" && enough && possible && !in.ForceFull || d.Refusal != "" || in.Allowed.Soft == "require" && !in.ForceFull {
				t.Fatalf("full: %+v", d.Reboot)
			}
		}
		if d.Reboot != nil && (d.Reboot.Reason == "" || (d.Reboot.Least == "soft") != (enough && possible)) {
			t.Fatalf("least: %+v", d.Reboot)
		}
	})
}

// TestObstacles: each obstacle has a text of its own for people.
func TestObstacles(t *testing.T) {
	in, seen := input(), map[string]obstacle{}
	for o := noObstacle + 1; o <= kexecUnsupported; o++ {
		text := in.describeObstacle(o)
		if other, ok := seen[text]; ok || text == "" {
			t.Errorf("obstacle %d is %q, as obstacle %d", o, text, other)
		}
		seen[text] = o
	}
}
