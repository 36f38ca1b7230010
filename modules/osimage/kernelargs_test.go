package osimage

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/planner/approval"
	"holdfast/engine/resource"
)

func TestKernelArgumentsToAddAndRemove(t *testing.T) {
	const now = "root=LABEL=root rw console=tty0 console=ttyS0 quiet"
	cases := map[string]struct {
		now, there, not, was string // was: arguments that holdfast has added
		remove, add          string
		changes              string
	}{
		"nothing wanted":       {now: now},
		"there already":        {now: now, there: "quiet"},
		"there, in order":      {now: now, there: "rw console=ttyS0"},
		"a new one":            {now: now, there: "nosmt", add: "nosmt", changes: "create nosmt: absent → nosmt"},
		"new ones at the end":  {now: now, there: "quiet nosmt a=1", add: "nosmt a=1", changes: "create nosmt: absent → nosmt; create a=1: absent → a=1"},
		"a new one before":     {now: now, there: "nosmt quiet", remove: "quiet", add: "nosmt quiet", changes: "create nosmt: absent → nosmt"},
		"another order":        {now: now, there: "console=ttyS0 console=tty0", remove: "console=tty0 console=ttyS0", add: "console=ttyS0 console=tty0", changes: "update console=ttyS0: out of order → in order; update console=tty0: out of order → in order"},
		"once more":            {now: now, there: "quiet quiet", add: "quiet", changes: "update quiet: quiet → quiet, 2 times"},
		"too often":            {now: "a b a", there: "a", remove: "a a", add: "a", changes: "update a: a, 2 times → a"},
		"not to be there":      {now: now, not: "quiet absent", remove: "quiet", changes: "delete quiet: quiet → absent"},
		"as often as it is":    {now: "a b a", not: "a", remove: "a a", changes: "delete a: a, 2 times → absent"},
		"no longer wanted":     {now: now, was: "quiet", remove: "quiet", changes: "delete quiet: quiet → absent"},
		"still wanted":         {now: now, was: "quiet", there: "quiet"},
		"another value":        {now: "x=1 y", was: "x=1", there: "x=2", remove: "x=1", add: "x=2", changes: "delete x=1: x=1 → absent; create x=2: absent → x=2"},
		"wanted and unwanted":  {now: now, there: "quiet", not: "quiet"},
		"a value is no prefix": {now: "x=12", not: "x=1 x"},
		"a vertical tab":       {now: "a\vquiet", there: "quiet", not: "a", remove: "a", changes: "delete a: a → absent"},
		"a no-break space":     {now: "a\u00a0quiet", there: "quiet"}, // two arguments for the kernel
		"quoted by GRUB":       {now: `"a=b c" d`, there: `a="b c"`},
		"quoted for nothing":   {now: "a=b c", there: `a="b" "c"`},
		"unwanted, by GRUB":    {now: `"a=b c" d`, not: `a="b c"`, remove: `a="b c"`, changes: `delete a="b c": a="b c" → absent`},
		"quoted":               {now: `a="b c" d`, not: `a="b c"`, remove: `a="b c"`, changes: `delete a="b c": a="b c" → absent`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			was := splitCommandLine(c.was)
			listed := resource.Config{KernelArgs: append(splitCommandLine(c.now), was...)} // lists also arguments that the host had
			for _, record := range []*resource.Record{{Config: listed, AddedArgs: was}, {Unfinished: &resource.UnfinishedWrite{Config: listed}, AddedArgs: was}} {
				w := newWantedArgs(resource.Config{KernelArgs: splitCommandLine(c.there), NoKernelArgs: splitCommandLine(c.not)}, record)
				k := w.computeChange(splitCommandLine(c.now))
				if !slices.Equal(k.remove, splitCommandLine(c.remove)) || !slices.Equal(k.add, splitCommandLine(c.add)) {
					t.Errorf("remove %q, add %q", k.remove, k.add)
				}
				var said []string
				for _, x := range w.listChanges(splitCommandLine(c.now), false) {
					said = append(said, string(x.Verb)+" "+strings.TrimPrefix(x.Resource, "kernel argument ")+": "+x.Before+" → "+x.After)
				}
				if got := strings.Join(said, "; "); got != c.changes {
					t.Errorf("says %s", got)
				}
			}
		})
	}
}

// TestRemovalsAreSpelledLikeTheBootLoaderEntry: the OS tools compare bytes with the entry, and the boot loader may have
// passed other ones.
func TestRemovalsAreSpelledLikeTheBootLoaderEntry(t *testing.T) {
	for _, c := range []struct{ now, entry, not, want string }{
		{`"a=b c" d`, `"a=b c" d`, `a="b c"`, `"a=b c"`},
		{`"a=b c" d`, `a="b c" d`, `a="b c"`, `a="b c"`},
		{"a=b a=b a=b", `a="b" x a=b "a=b"`, "a=b", `a="b" a=b "a=b"`},
		{"a=b", "x", "a=b", "a=b"},
		{"a=b", "", "a=b", "a=b"},
	} {
		w := wantedArgs{absent: splitCommandLine(c.not)}
		if k := w.computeChange(splitCommandLine(c.now)).spellRemovals(resource.SplitKernelArgs(c.entry)); strings.Join(k.remove, " ") != c.want {
			t.Errorf("%+v: %q", c, k.remove)
		}
	}
}

// applyLikeOSTree changes arguments like ostree, which adds arguments, and then removes
// the first equal ones. rpm-ostree removes first.
func applyLikeOSTree(now []string, k kernelArgs, addFirst bool) []string {
	now = slices.Clone(now)
	if addFirst {
		now = append(now, k.add...)
	}
	for _, a := range k.remove {
		i := slices.Index(now, a)
		now = slices.Delete(now, i, i+1)
	}
	if !addFirst {
		now = append(now, k.add...)
	}
	return now
}

func TestAChangeOfKernelArgumentsLeavesNothingToDo(t *testing.T) {
	list := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "a=1", "a=2", "d", "e", "f"}), 0, 8)
	rapid.Check(t, func(t *rapid.T) {
		now := list.Draw(t, "now")
		w := newWantedArgs(
			resource.Config{KernelArgs: list.Draw(t, "there"), NoKernelArgs: list.Draw(t, "not there")},
			&resource.Record{Config: resource.Config{KernelArgs: list.Draw(t, "recorded")}, AddedArgs: list.Draw(t, "added")},
		)
		k := w.computeChange(now)
		if changes := w.listChanges(now, false); (len(changes) == 0) != k.isEmpty() {
			t.Fatalf("%v makes these changes: %v", k, changes)
		}
		next := applyLikeOSTree(now, k, true)
		if other := applyLikeOSTree(now, k, false); !slices.Equal(next, other) {
			t.Fatalf("ostree makes %v of it, rpm-ostree %v", next, other)
		}
		if more := w.computeChange(next); !more.isEmpty() {
			t.Fatalf("then, from %v, still %v", next, more)
		}
		spoken := func(a string) bool { return slices.Contains(w.present, a) }
		if got := slices.DeleteFunc(slices.Clone(next), func(a string) bool { return !spoken(a) }); !slices.Equal(got, w.present) {
			t.Fatalf("of what is wanted there is %v in %v", got, next)
		}
		ours := func(a string) bool { return spoken(a) || slices.Contains(w.absent, a) }
		was, is := slices.DeleteFunc(slices.Clone(now), ours), slices.DeleteFunc(slices.Clone(next), ours)
		if !slices.Equal(was, is) {
			t.Fatalf("others were %v and are %v", was, is)
		}
	})
}

// TestASavedPlanHasTheOrderOfKernelArguments: two lists of arguments that lead to other arguments are other changes for a saved plan.
func TestASavedPlanHasTheOrderOfKernelArguments(t *testing.T) {
	list := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		now, there := list.Draw(t, "now"), list.Draw(t, "there")
		plan := func(there []string) ([]string, engine.Plan) {
			w := wantedArgs{present: there}
			hp := engine.HostPlan{Host: "w-1", Changes: w.listChanges(now, false)}
			return applyLikeOSTree(now, w.computeChange(now), true), engine.Plan{Hosts: []engine.HostPlan{hp}}
		}
		is, p := plan(there)
		was, saved := plan(rapid.Permutation(there).Draw(t, "saved"))
		if err := approval.CheckSame(p, saved); err == nil && !slices.Equal(is, was) {
			t.Fatalf("the saved plan leads to %v, and %v was accepted", was, is)
		} else if again := approval.CheckSame(p, p); again != nil {
			t.Fatal(again)
		}
	})
}

func TestChangesOfKernelArgumentsAreTold(t *testing.T) {
	names := map[string]bool{}
	for _, c := range newWantedArgs(resource.Config{KernelArgs: []string{"a", "a", "b", "c\x1b"}, NoKernelArgs: []string{"d", "d"}}, nil).listChanges([]string{"d"}, true) {
		if names[c.Resource] {
			t.Errorf("%s is named twice", c.Resource)
		}
		names[c.Resource] = true
		if c.Module != "os" || c.Rule != "fixed: kernel arguments" || !c.Drift || len(c.Actions) != 2 || c.Actions[0].Type != engine.DrainAction || c.Actions[1].Type != engine.RebootAction {
			t.Errorf("%+v", c)
		}
		if strings.Contains(c.Resource+c.Before+c.After, "\x1b") {
			t.Errorf("%q would reach a terminal", c.Resource)
		}
	}
	if len(names) != 4 {
		t.Errorf("%v", names)
	}
}
