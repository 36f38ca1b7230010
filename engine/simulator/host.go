package simulator

import (
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/simulator/laws"
)

// Traits is the behaviour of a host. With the zero value, all operations
// succeed at once.
type Traits struct {
	Stage    time.Duration // from the order to stage until the OS is on disk
	Upload   time.Duration // from the start of a write until all its data have arrived
	Shutdown time.Duration // from the order to reboot until the host is down
	Boot     time.Duration // from then until the host answers again
	Dawn     time.Duration // from the answer until the host knows its boot ID and its deployments
	Settle   time.Duration // from the answer until its units run and its etcd member has caught up
	Skew     time.Duration // how far its clock is ahead

	HalfDone   bool          // a write fails in the middle, and cannot be undone; the same for a rollback of a stubborn host
	DiskFull   bool          // a staging fails for lack of space
	Forgetful  bool          // the host loses a staged OS
	NoReturn   bool          // the host does not come back from a reboot
	Hangs      bool          // the host does not come back from a reboot before its BMC resets it
	SilentBMC  bool          // its BMC does not answer
	OldOS      bool          // the host comes back from a reboot with the old OS
	Soft       bool          // a reboot of the host is only a soft one: its kernel stays
	SoftKind   bool          // the host can soft reboot
	Survives   bool          // the host can soft reboot, and its etcd member runs on meanwhile
	KexecKind  bool          // the host can kexec
	Lax        bool          // the host does not check which OS its member runs from
	Unprepared bool          // the host cannot prepare a soft reboot or a kexec, and reboots in full instead if it may
	Stubborn   bool          // the host refuses to reboot and to shut down
	Failing    []string      // units that have failed after a reboot
	Missing    []string      // units that do not run after a reboot
	Ending     bool          // these units start again and again, and end soon each time
	NoEtcd     bool          // its etcd member does not come back from a reboot, and does not start
	CatchUp    time.Duration // from the start of etcd until its learner may be promoted
	NoFreezer  bool          // the host cannot freeze a staging
	StagesOn   bool          // a new hold does not end a staging
	Bad        string        // digest of an OS in which a unit fails
	Unclear    string        // error of the module about its state

	ReadOnly  bool   // no setting can be written
	ActFails  bool   // every action fails
	ActHangs  bool   // no action ends
	Forgets   bool   // the failure of an action is not recorded
	AppDies   bool   // a failed action ends the service, and so does every boot
	CutsPower string // point of a script about the setting at which the power is cut once: before, written, acted or recorded
}

func (t Traits) canSoftReboot() bool { return t.SoftKind || t.Survives }

// Host is one host of a site.
type Host struct {
	Name string

	site    *Site
	member  *peer     // of its cluster, as etcd lists it; nil: none
	data    string    // ID of the member whose data it has
	law     laws.Host // the host as the observer of the laws has it
	host    engine.Host
	traits  Traits
	up, cut bool
	off     bool              // it is down because it was switched off
	boot    int               // number of boots of the kernel
	soft    int               // number of soft reboots since then
	kexecs  int               // number of boots of the kernel by a kexec
	goesBy  engine.RebootKind // kind of the reboot that was ordered, as the host carries it out
	downBy  engine.RebootKind // kind of the reboot in which the host went down
	starter engine.KernelStarter
	since   time.Time
	goes    time.Time // when the host goes down; zero: never
	returns time.Time // when the host comes back; zero: never

	memberOS       string // the OS that the process of its etcd member runs from
	stale          bool   // that process has started before a setting that needs a reboot was in effect
	runsOn         bool   // that process has survived the last soft reboot
	booted, staged string
	bootedAt       time.Time // when the host first ran booted; zero: since the start
	previous       string    // the OS of its rollback deployment; "": none
	next           string    // the finalized OS that the host boots next, also after a power cut; "": the running OS
	locked         bool
	staging        string
	paces          []string // scripts that have sent a pace to the host
	stagedBy       time.Time
	stager         *Bastion // bastion whose run stages the OS
	finalizeErr    string
	plain          bool // the reboot into the OS on disk is reported at once
	setting        setting
	probation      *probation // the write of the setting that waits for a new login; nil: none
	proved         string     // run whose login has confirmed the last write on probation
	memory         memory

	hold    *engine.Hold
	ended   *engine.Hold // hold of a run that a person ended before a run saw the host whole
	garbage string       // text of a hold file that cannot be read
	freed   bool         // a person removed the last hold
	units   []string
	ran     []string // units that ran when the hold was taken
	failed  []string
	etcd    bool
	members memberHost
	drained bool
	lost    time.Time // when the host last became unavailable
	reboots []string  // digests in the orders to reboot
}

func newHost(s *Site, h engine.Host, digest string) *Host {
	host := &Host{Name: h.Name, site: s, host: h, up: true, boot: 1, booted: digest, memberOS: digest, etcd: h.Cluster != "", members: memberHost{enabled: h.Cluster != ""}}
	host.units = host.enabledUnits()
	return host
}

func (h *Host) enabledUnits() []string {
	units := []string{"sshd.service"}
	if !endsService(h.setting.effect) {
		units = append(units, appUnit)
	}
	if h.members.enabled {
		units = append(units, "etcd.service")
	}
	return units
}

// lacksUnits reports whether an enabled unit that ran when the hold was taken
// does not run now.
func (h *Host) lacksUnits() bool {
	enabled := h.enabledUnits()
	return slices.ContainsFunc(h.ran, func(u string) bool { return slices.Contains(enabled, u) && !slices.Contains(h.units, u) })
}

// Change changes the behaviour of the host.
func (h *Host) Change(f func(*Traits)) {
	h.site.withLock(func(time.Time) { f(&h.traits) })
}

func (h *Host) advanceTo(now time.Time) {
	for {
		switch {
		case h.staging != "" && h.up && isDue(h.stagedBy, now) && !isDue(h.goes, h.stagedBy):
			h.staged, h.locked, h.staging = h.staging, true, ""
			h.stager.law().CheckArrives(&h.law, "OS "+h.staged)
		case h.probation != nil && h.up && isDue(h.probation.until, now):
			h.undoProbation()
		case isDue(h.goes, now):
			h.goDown(h.goes)
		case isDue(h.returns, now):
			h.comeUp(h.returns)
		default:
			return
		}
	}
}

func isDue(t, now time.Time) bool { return !t.IsZero() && !t.After(now) }

func (h *Host) goDown(at time.Time) {
	rebooting, wasHealthy := !h.goes.IsZero(), h.hasHealthyMember(at)
	h.up, h.goes, h.staging, h.probation = false, time.Time{}, "", nil
	h.lost, h.downBy = at, engine.FullReboot
	switch {
	case rebooting && h.traits.Soft:
		h.downBy = engine.SoftReboot
	case rebooting:
		h.downBy = h.goesBy
	}
	h.runsOn = h.downBy.SharesKernel() && h.traits.Survives && wasHealthy
	if rebooting && !h.traits.NoReturn && !h.traits.Hangs {
		h.returns = at.Add(h.traits.Boot)
	}
	h.site.addToLog("%s is down", h.Name)
}

func (h *Host) comeUp(at time.Time) {
	h.up, h.off, h.since, h.returns, h.finalizeErr = true, false, at, time.Time{}, ""
	keepsKernel := h.downBy.SharesKernel()
	switch h.downBy {
	case engine.SoftReboot:
		h.soft++
	case engine.KexecReboot:
		h.boot, h.soft, h.kexecs, h.starter = h.boot+1, 0, h.kexecs+1, engine.StartedByKexec
	default:
		h.boot, h.soft, h.starter = h.boot+1, 0, engine.StartedByLoader
	}
	h.law.NoteBoot(h.downBy, at)
	switch {
	case h.staged == "" || h.locked:
		h.bootsNext()
	case h.traits.OldOS:
		h.finalizeErr = "error: Installing kernel: No space left on device"
	default:
		h.previous, h.booted, h.next = h.booted, h.staged, ""
		h.bootedAt = at
		h.site.observe().CheckBooted(&h.law)
	}
	if !keepsKernel || !h.locked { // /run, which a soft reboot keeps, has the staged OS
		h.staged, h.locked = "", false
	}
	h.runsOn = h.runsOn && h.etcd
	h.stale = h.runsOn && (h.stale || h.setting.effect != h.setting.disk && needsReboot(h.setting.disk))
	h.setting.effect = h.setting.disk
	if !h.runsOn {
		h.etcd = false
	}
	if h.members.enabled && !h.runsOn {
		h.startEtcd(nil, at)
	}
	h.failed = slices.Clone(h.traits.Failing)
	if h.traits.AppDies || h.traits.Bad != "" && h.traits.Bad == h.booted {
		h.failed = append(h.failed, appUnit)
	}
	h.units = nil
	for _, u := range h.enabledUnits() {
		if !slices.Contains(h.failed, u) && !slices.Contains(h.traits.Missing, u) {
			h.units = append(h.units, u)
		}
	}
	h.site.addToLog("%s is up with %s", h.Name, h.booted)
}

func (h *Host) hasHealthyMember(now time.Time) bool {
	settled := h.runsOn || h.up && !now.Before(h.since.Add(h.traits.Settle))
	return settled && h.etcd && h.member != nil && h.member.id == h.data
}

// answersClients reports whether the member of the host is healthy for clients on the bastion, whose connections go through
// SSH of the host. A member that runs on during a soft reboot serves only the other members.
func (h *Host) answersClients(now time.Time) bool { return h.up && h.hasHealthyMember(now) }

func (h *Host) bootID() resource.BootID {
	id := fmt.Sprintf("%s-boot-%d", h.Name, h.boot)
	if h.soft > 0 {
		id += fmt.Sprintf("+%d", h.soft)
	}
	return resource.BootID(id)
}

func (h *Host) hostFacts(now time.Time) engine.Facts {
	// logind delays the shutdown for half of the time, in which the staged OS still shows a reboot into it.
	staged, stopping := h.staged, !h.goes.IsZero() && (h.plain || h.next != "" || isDue(h.goes.Add(-h.traits.Shutdown/2), now))
	if h.traits.Forgetful || stopping { // ostree finalizes early in a shutdown
		staged = ""
	}
	f := engine.Facts{
		Host: h.Name, BootID: h.bootID(), Clock: now.Add(h.traits.Skew).UTC(), Stopping: stopping, Hold: h.holdCopy(), HoldProblem: h.garbage,
		Failed: slices.Clone(h.failed), FinalizeProblem: h.finalizeErr, Tool: "simulator 1",
		Deployments: []engine.Deployment{{Digest: h.booted, Version: h.site.versionLabel(h.booted), Booted: true}},
	}
	if h.traits.canSoftReboot() {
		f.Reboots = engine.RebootFacts{Systemd: 262, CountsSoft: true, Composefs: true, PreparesSoft: true, KeepsMounts: true, KeepsBoot: true}
	}
	if h.traits.Survives && h.etcd {
		f.Survivors = []engine.Survivor{{Unit: "etcd.service", Survives: true, Outdated: h.memberOS != h.booted, Deployment: h.memberOS + ".0"}}
	}
	if h.traits.KexecKind {
		f.Reboots.Systemd, f.Reboots.Kexec, f.Reboots.StartedBy = 262, engine.KexecPossible, h.starter
	}
	if h.previous != "" {
		f.Deployments = append(f.Deployments, engine.Deployment{Digest: h.previous, Version: h.site.versionLabel(h.previous), Rollback: true})
	}
	if h.ended != nil {
		ended := *h.ended
		f.Unproven = &ended
	}
	remembered := h.memory.rememberedFacts()
	f.Rollout, f.Updated, f.Rejected = remembered.Rollout, remembered.Updated, remembered.Rejected
	f.Config = h.setting.configFacts(h.traits.Unclear)
	if !now.Before(h.since.Add(h.traits.Settle)) {
		f.Running = slices.Clone(h.units)
	}
	if h.traits.Ending && h.boot > 1 {
		f.Unsettled = slices.Clone(h.traits.Missing)
	}
	if h.staging != "" {
		f.StageUnit = "active"
	}
	if staged != "" {
		d := engine.Deployment{Digest: staged, Version: h.site.versionLabel(staged), Staged: true, Locked: h.locked, Compared: h.traits.canSoftReboot() || h.traits.KexecKind}
		if d.Compared && !laws.SameKernel(staged, h.booted) {
			d.Differs = []string{"/usr/lib/modules/" + staged}
		}
		f.Deployments = append(f.Deployments, d)
	}
	if h.boot > 1 && now.Before(h.since.Add(h.traits.Dawn)) {
		f.BootID, f.Deployments, f.Problems = "", nil, []string{"ostree status: is the bus up?"}
	}
	if h.traits.Unclear != "" {
		f.Problems = []string{h.traits.Unclear}
	}
	return f
}
