package osimage

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
	"holdfast/engine/textutil"
)

// kernelArgs is a change of kernel arguments. Each removal removes the first
// argument that is equal. Additions are appended at the end.
type kernelArgs struct {
	remove []string // one element for each removal
	add    []string
}

func (k kernelArgs) isEmpty() bool { return len(k.remove)+len(k.add) == 0 }

// changeDigest returns a digest of the change. A change of nothing has a digest, too.
func (k kernelArgs) changeDigest() string {
	return resource.Digest([]byte(strings.Join(k.commandOptions("-", "+"), "\n")))
}

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

// wantedArgs are the kernel arguments that a host must have, and those that it
// must not have.
type wantedArgs struct {
	present []string // arguments in order, one element for each occurrence
	absent  []string // each argument once
}

// newWantedArgs returns the arguments that a configuration demands. It demands
// the removal of arguments that holdfast has added and that are not in the
// configuration.
func newWantedArgs(c resource.Config, record *resource.Record) wantedArgs {
	gone := slices.Clone(c.NoKernelArgs)
	if record != nil {
		gone = append(gone, record.AddedArgs...)
	}
	w := wantedArgs{present: c.KernelArgs}
	for _, a := range gone {
		if !slices.Contains(w.present, a) && !slices.Contains(w.absent, a) {
			w.absent = append(w.absent, a)
		}
	}
	return w
}

// computeChange returns the change that gives a host with the arguments now those of w. Arguments that w does not name stay where
// they are.
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

// listChanges returns no change if computeChange returns none, and only then. The reason of the first addition or update is the
// order of all arguments, so that a saved plan with another order differs.
func (w wantedArgs) listChanges(now []string, drift bool) []engine.Change {
	var list []engine.Change
	order := ""
	if len(w.present) > 1 {
		order = "the order of kernel arguments matters: " + textutil.Printable(strings.Join(w.present, " "))
	}
	add := func(arg, before, after string, verb engine.Verb) {
		why := ""
		if verb != engine.Delete {
			why, order = order, ""
		}
		list = append(list, engine.Change{
			Module: engine.OSModule, Kind: engine.KernelArgKind, Resource: engine.KernelArgKind.String() + " " + textutil.Printable(arg), Before: before, After: after,
			Rule: "fixed: kernel arguments", Verb: verb, Reason: why, Drift: drift, RebootClass: rules.KernelArgsClass,
			Actions: []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}},
		})
	}
	moved := w.movedArgs(now)
	for _, arg := range uniqueElements(append(slices.Clone(w.absent), w.present...)) {
		was, is := countElement(now, arg), countElement(w.present, arg)
		switch {
		case was == is && slices.Contains(moved, arg):
			add(arg, "out of order", "in order", engine.Update)
		case was == is:
		case was == 0:
			add(arg, describeCount(arg, was), describeCount(arg, is), engine.Create)
		case is == 0:
			add(arg, describeCount(arg, was), describeCount(arg, is), engine.Delete)
		default:
			add(arg, describeCount(arg, was), describeCount(arg, is), engine.Update)
		}
	}
	return list
}

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

// spellRemovals returns the change with removals in the spelling of the boot loader entry, because the OS tools compare bytes
// with it.
func (k kernelArgs) spellRemovals(entry []string) kernelArgs {
	entry, k.remove = slices.Clone(entry), slices.Clone(k.remove)
	for i, a := range k.remove {
		if at := slices.IndexFunc(entry, func(e string) bool { return resource.NormalizeKernelArg(e) == a }); at >= 0 {
			k.remove[i] = entry[at]
			entry = slices.Delete(entry, at, at+1)
		}
	}
	return k
}

// kernelArgsScript prints the kernel arguments of the host. A boot loader entry that it omits has the spelling of
// splitCommandLine.
//
//go:embed sh/kernelargs.sh
var kernelArgsScript string

// readKernelArgs reads the output of kernelArgsScript.
func readKernelArgs(text string, f engine.Facts) engine.Facts {
	line, entries, _ := strings.Cut(text, "\n")
	f.KernelArgs = splitCommandLine(line)
	for line := range strings.Lines(entries) {
		link, options, _ := strings.Cut(strings.TrimSpace(line), " ")
		if booted := f.Booted(); booted != nil && strings.HasSuffix(link, deploymentFolder(*booted)) {
			f.BootEntryArgs = resource.SplitKernelArgs(options)
		}
	}
	return f
}

// splitCommandLine splits /proc/cmdline by the rule that serves documents, too, into arguments in the same spelling as theirs.
func splitCommandLine(text string) []string { return resource.NormalizeKernelArgs(text) }
