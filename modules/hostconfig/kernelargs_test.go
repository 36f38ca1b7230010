package hostconfig

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/record"
	"holdfast/modules/moduletest"
)

func argsDiff(t *testing.T, wanted []string, cmdLine string, was *resource.Record) *configDiff {
	t.Helper()
	f := engine.Facts{BootID: moduletest.Boot, KernelArgs: strings.Fields(cmdLine), Config: &resource.ConfigFacts{Applied: was}}
	x, err := newConfigDiff(engine.Desired{Config: &resource.Config{KernelArgs: wanted}}, f, true)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// The record names the kernel arguments that holdfast has added. An argument that
// the host had before it was listed is never among them.
func TestTheRecordNamesAddedKernelArguments(t *testing.T) {
	listed := func(args ...string) resource.Config { return resource.Config{KernelArgs: args} }
	for name, c := range map[string]struct {
		wanted        []string
		cmdLine       string
		was           *resource.Record
		during, after []string
		stays         string // an argument that a warning names
	}{
		"the first record":          {wanted: []string{"a", "b"}, cmdLine: "b c", during: []string{"a"}, after: []string{"a"}},
		"another one":               {wanted: []string{"a", "b"}, cmdLine: "a", was: &resource.Record{Config: listed("a"), AddedArgs: []string{"a"}}, during: []string{"a", "b"}, after: []string{"a", "b"}},
		"one that leaves":           {cmdLine: "a", was: &resource.Record{Config: listed("a"), AddedArgs: []string{"a"}}, during: []string{"a"}},
		"one of the host leaves":    {cmdLine: "a", was: &resource.Record{Config: listed("a")}, stays: "kernel argument a leaves the documents and stays"},
		"lost, one of the host":     {wanted: []string{"a"}, cmdLine: "b", was: &resource.Record{Config: listed("a")}},
		"lost, an added one":        {wanted: []string{"a"}, cmdLine: "b", was: &resource.Record{Config: listed("a"), AddedArgs: []string{"a"}}, during: []string{"a"}, after: []string{"a"}},
		"cut short before the boot": {wanted: []string{"a"}, was: &resource.Record{Unfinished: &resource.UnfinishedWrite{Config: listed("a")}, AddedArgs: []string{"a"}}, during: []string{"a"}, after: []string{"a"}},
		"cut short after the boot":  {cmdLine: "a", was: &resource.Record{Unfinished: &resource.UnfinishedWrite{Config: listed("a")}, AddedArgs: []string{"a"}}, during: []string{"a"}},
		"cut short, of the host":    {cmdLine: "a", was: &resource.Record{Unfinished: &resource.UnfinishedWrite{Config: listed("a")}}, stays: "should_not_exist"},
	} {
		x := argsDiff(t, c.wanted, c.cmdLine, c.was)
		before, after := x.buildRecords(engine.Target{Run: "r1"})
		if !slices.Equal(before.AddedArgs, c.during) || !slices.Equal(after.AddedArgs, c.after) {
			t.Errorf("%s: %q during the write, %q after it", name, before.AddedArgs, after.AddedArgs)
		}
		var warnings []string
		for _, change := range x.listChanges() {
			warnings = append(warnings, change.Warnings...)
		}
		if got := strings.Join(warnings, "\n"); (got == "") != (c.stays == "") || !strings.Contains(got, c.stays) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if a, err := record.Decode(string(record.Initial(listed("a")))); err != nil || !slices.Equal(a.AddedArgs, []string{"a"}) {
		t.Errorf("after an installation: %+v, %v", a, err)
	}
}

// A kernel type that leaves the documents changes nothing on the host. The plan says so.
func TestAKernelTypeThatLeavesIsToldOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		was, is string
		tells   bool
	}{"leaves": {"realtime", "", true}, "stays": {"realtime", "realtime", false}, "the default leaves": {"default", "", false}, "to the default": {"realtime", "default", false}} {
		f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{Applied: &resource.Record{Schema: resource.RecordSchema, Config: resource.Config{KernelType: c.was}}}}
		changes, err := findChanges(engine.Desired{Config: &resource.Config{KernelType: c.is}}, f)
		if err != nil {
			t.Fatal(err)
		}
		tells := len(changes) > 0 && strings.Contains(strings.Join(changes[0].Warnings, "\n"), "kernel type realtime leaves the documents, and the host keeps its kernel")
		if tells != c.tells {
			t.Errorf("%s: %+v", name, changes)
		}
	}
}

// A boot may bring new arguments before its run can record them, so the record has
// them before.
func TestKernelArgumentsAreRecordedBeforeTheBoot(t *testing.T) {
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	b.Hold(engine.RunHold, "r1")
	d := engine.Desired{Config: &resource.Config{KernelArgs: []string{"nosmt"}}}
	x := argsDiff(t, d.Config.KernelArgs, "quiet", nil)
	steps := x.buildSteps(moduletest.Target(d, engine.Facts{BootID: moduletest.Boot}))
	if len(steps.Write) != 1 {
		t.Fatalf("steps before the boot: %v", steps.Write)
	}
	b.Want(b.RunScript(*steps.Write[0].Do.Exec), 0, "")
	a, err := record.Decode(b.Read(record.Path))
	b.Check(err)
	if a.Unfinished == nil || !slices.Equal(a.AddedArgs, []string{"nosmt"}) {
		t.Fatalf("record: %+v", a)
	}
	// The boot was the last step of a killed run, and no document lists the argument any more.
	if before, _ := argsDiff(t, nil, "quiet nosmt", a).buildRecords(engine.Target{Run: "r2"}); !slices.Equal(before.AddedArgs, []string{"nosmt"}) {
		t.Errorf("forgotten: %+v", before)
	}
}

// A play boots new arguments and writes no configuration. Its step replaces only the record: it leaves the originals alone
// that an interrupted write has restored, because the record still has their paths.
func TestOnlyArgumentsAreRecorded(t *testing.T) {
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	b.Hold(engine.RunHold, "r1")
	restored, original := engine.StateDir+"/tx/r0/restored", engine.StateDir+"/originals/a"
	b.Write(restored, "a")
	b.Write(original, "the host's own")
	d := engine.Desired{Config: &resource.Config{KernelArgs: []string{"nosmt"}}}
	f := engine.Facts{BootID: moduletest.Boot, KernelArgs: []string{"quiet"}, Config: &resource.ConfigFacts{
		Applied: &resource.Record{Schema: resource.RecordSchema, Existed: []string{"/srv"}, Unfinished: &resource.UnfinishedWrite{Run: "r0"}},
	}}
	steps, err := RecordNewArgs(d, f)
	b.Check(err)
	b.Want(b.RunScript(*steps(moduletest.Target(d, f))[0].Do.Exec), 0, "")
	a, err := record.Decode(b.Read(record.Path))
	b.Check(err)
	if !slices.Equal(a.AddedArgs, []string{"nosmt"}) || !slices.Equal(a.Existed, []string{"/srv"}) || a.Unfinished == nil || a.Unfinished.Run != "r0" {
		t.Errorf("record: %+v", a)
	}
	if b.Read(restored) != "a\n" || b.Read(original) != "the host's own\n" {
		t.Error("the remains of the interrupted write are gone")
	}
	f.Config.Applied = a
	if again, err := RecordNewArgs(d, f); again != nil || err != nil {
		t.Errorf("recorded again: %v", err)
	}
}

// A record of an earlier version may have another spelling of a quoted argument than documents and host have now. It is the same
// argument, so holdfast still knows that it has added it.
func TestArgumentsOfARecordInAnotherSpelling(t *testing.T) {
	old := resource.Config{KernelArgs: []string{`"a=b c"`, "d=e;f", "quiet"}, NoKernelArgs: []string{`g="h"`}}
	a, err := record.Decode(string(record.Encode(resource.Record{
		Schema: resource.RecordSchema, Config: old, AddedArgs: old.KernelArgs, Unfinished: &resource.UnfinishedWrite{Run: "r", Boot: "b", Config: old},
	})))
	if err != nil {
		t.Fatal(err)
	}
	now := []string{`a="b c"`, `d="e;f"`, "quiet"}
	for _, c := range record.Configs(*a) {
		if !slices.Equal(c.KernelArgs, now) || !slices.Equal(c.NoKernelArgs, []string{"g=h"}) {
			t.Errorf("%q, %q", c.KernelArgs, c.NoKernelArgs)
		}
	}
	a.Unfinished = nil
	args := argDiff{desired: resource.Config{KernelArgs: now}, applied: a, cmdLine: now}
	if got := args.argsAfterWrite(); !slices.Equal(got, now) {
		t.Errorf("holdfast has added %q", got)
	}
}
