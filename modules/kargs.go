package modules

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// kernelArgs says how the kernel arguments of a host are to change. Removing
// takes the first one of its kind away; what is added comes to the end.
type kernelArgs struct {
	remove []string // each as often as it goes
	add    []string
}

func (k kernelArgs) isEmpty() bool { return len(k.remove)+len(k.add) == 0 }

// changeDigest names the change; "" is none.
func (k kernelArgs) changeDigest() string {
	if k.isEmpty() {
		return ""
	}
	return engine.Digest([]byte(strings.Join(k.commandOptions("-", "+"), "\n")))
}

// commandOptions gives the change as options of a command.
func (k kernelArgs) commandOptions(remove, add string) []string {
	var list []string
	for _, a := range k.remove {
		list = append(list, remove+a)
	}
	for _, a := range k.add {
		list = append(list, add+a)
	}
	return list
}

// wantedArgs is what is demanded of a host's kernel arguments.
type wantedArgs struct {
	present []string // in that order among each other, as often as they are named
	absent  []string // each once
}

// newWantedArgs gives what a configuration demands. What a record says that
// holdfast has put there goes when it is not desired any more.
func newWantedArgs(c engine.Config, record *engine.Applied) wantedArgs {
	gone := slices.Clone(c.NoKernelArgs)
	if record != nil {
		gone = append(gone, record.Config.KernelArgs...)
		if record.Unfinished != nil {
			gone = append(gone, record.Unfinished.Config.KernelArgs...)
		}
	}
	w := wantedArgs{present: c.KernelArgs}
	for _, a := range gone {
		if !slices.Contains(w.present, a) && !slices.Contains(w.absent, a) {
			w.absent = append(w.absent, a)
		}
	}
	return w
}

// computeChange gives what makes now as it is wanted. Arguments that nobody speaks of
// stay where they are.
func (w wantedArgs) computeChange(now []string) kernelArgs {
	var k kernelArgs
	var have []string
	for _, a := range now {
		if slices.Contains(w.absent, a) {
			k.remove = append(k.remove, a)
		} else if slices.Contains(w.present, a) {
			have = append(have, a)
		}
	}
	if n := len(have); n <= len(w.present) && slices.Equal(have, w.present[:n]) {
		k.add = slices.Clone(w.present[n:])
		return k
	}
	k.remove, k.add = append(k.remove, have...), slices.Clone(w.present)
	return k
}

// listChanges names the difference between now and what is wanted, one change for
// each argument. There is none exactly if change gives none.
func (w wantedArgs) listChanges(now []string, drift bool) []engine.Change {
	var list []engine.Change
	add := func(arg, before, after, verb, why string) {
		list = append(list, engine.Change{
			Module: "os", Kind: "kernel argument", Resource: kernelArgument + textutil.Printable(arg), Before: before, After: after,
			Rule: "fixed: kernel arguments", Verb: verb, Why: why, Drift: drift,
			Actions: []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}},
		})
	}
	moved := w.movedArgs(now)
	for _, arg := range uniqueElements(append(slices.Clone(w.absent), w.present...)) {
		was, is := countElement(now, arg), countElement(w.present, arg)
		switch {
		case was == is && slices.Contains(moved, arg):
			add(arg, "out of order", "in order", "update", "the order of kernel arguments matters")
		case was == is:
		case was == 0:
			add(arg, describeCount(arg, was), describeCount(arg, is), "create", "")
		case is == 0:
			add(arg, describeCount(arg, was), describeCount(arg, is), "delete", "")
		default:
			add(arg, describeCount(arg, was), describeCount(arg, is), "update", "")
		}
	}
	return list
}

// kernelArgument begins the name of a change of one.
const kernelArgument = "kernel argument "

// movedArgs gives the arguments that are there and wanted, but elsewhere.
func (w wantedArgs) movedArgs(now []string) []string {
	was, is := commonElements(now, w.present), commonElements(w.present, now)
	var list []string
	for i := range is {
		if was[i] != is[i] {
			list = append(list, is[i])
		}
	}
	return list
}

// commonElements gives the elements of list that other has too, as often.
func commonElements(list, other []string) []string {
	other = slices.Clone(other)
	var both []string
	for _, s := range list {
		if i := slices.Index(other, s); i >= 0 {
			other = slices.Delete(other, i, i+1)
			both = append(both, s)
		}
	}
	return both
}

// uniqueElements gives each element once, where it first is.
func uniqueElements(list []string) []string {
	var once []string
	for _, s := range list {
		if !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return once
}

func countElement(list []string, s string) int {
	n := 0
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func describeCount(arg string, n int) string {
	switch arg = textutil.Printable(arg); n {
	case 0:
		return "absent"
	case 1:
		return arg
	}
	return fmt.Sprintf("%s, %d times", arg, n)
}

// kargsProblem says why the kernel arguments of a desired state cannot be had,
// as far as that can be told without a host.
func kargsProblem(d engine.Desired) error {
	if d.Config == nil || len(d.Config.KernelArgs)+len(d.Config.NoKernelArgs) == 0 {
		return nil
	}
	for _, a := range slices.Concat(d.Config.KernelArgs, d.Config.NoKernelArgs) {
		if strings.HasPrefix(a, "ostree=") {
			return fmt.Errorf("kernel argument %s: ostree= names the deployment that is booted; ostree sets it", textutil.Printable(a))
		}
	}
	switch {
	case d.OS == nil:
		return fmt.Errorf(`kernel arguments need an os block that names the driver: os { driver = "ostree" }`)
	case d.OS.Driver == "bootc":
		return errBootcArgs
	}
	return nil
}

// commandLine takes a kernel command line apart as the kernel does: at spaces
// outside double quotes.
func commandLine(text string) []string {
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && strings.ContainsRune(" \t\r\n", r)
	})
}
