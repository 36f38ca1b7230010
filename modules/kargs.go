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

func (k kernelArgs) empty() bool { return len(k.remove)+len(k.add) == 0 }

// digest names the change; "" is none.
func (k kernelArgs) digest() string {
	if k.empty() {
		return ""
	}
	return engine.Digest([]byte(strings.Join(k.options("-", "+"), "\n")))
}

// options gives the change as options of a command.
func (k kernelArgs) options(remove, add string) []string {
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
	there []string // in that order among each other, as often as they are named
	gone  []string // each once
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
	w := wantedArgs{there: c.KernelArgs}
	for _, a := range gone {
		if !slices.Contains(w.there, a) && !slices.Contains(w.gone, a) {
			w.gone = append(w.gone, a)
		}
	}
	return w
}

// change gives what makes now as it is wanted. Arguments that nobody speaks of
// stay where they are.
func (w wantedArgs) change(now []string) kernelArgs {
	var k kernelArgs
	var have []string
	for _, a := range now {
		if slices.Contains(w.gone, a) {
			k.remove = append(k.remove, a)
		} else if slices.Contains(w.there, a) {
			have = append(have, a)
		}
	}
	if n := len(have); n <= len(w.there) && slices.Equal(have, w.there[:n]) {
		k.add = slices.Clone(w.there[n:])
		return k
	}
	k.remove, k.add = append(k.remove, have...), slices.Clone(w.there)
	return k
}

// changes names the difference between now and what is wanted, one change for
// each argument. There is none exactly if change gives none.
func (w wantedArgs) changes(now []string, drift bool) []engine.Change {
	var list []engine.Change
	add := func(arg, before, after, verb, why string) {
		list = append(list, engine.Change{
			Module: "os", Kind: "kernel argument", Resource: kernelArgument + textutil.Printable(arg), Before: before, After: after,
			Rule: "fixed: kernel arguments", Verb: verb, Why: why, Drift: drift,
			Actions: []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}},
		})
	}
	moved := w.moved(now)
	for _, arg := range firsts(append(slices.Clone(w.gone), w.there...)) {
		was, is := count(now, arg), count(w.there, arg)
		switch {
		case was == is && slices.Contains(moved, arg):
			add(arg, "out of order", "in order", "update", "the order of kernel arguments matters")
		case was == is:
		case was == 0:
			add(arg, times(arg, was), times(arg, is), "create", "")
		case is == 0:
			add(arg, times(arg, was), times(arg, is), "delete", "")
		default:
			add(arg, times(arg, was), times(arg, is), "update", "")
		}
	}
	return list
}

// kernelArgument begins the name of a change of one.
const kernelArgument = "kernel argument "

// moved gives the arguments that are there and wanted, but elsewhere.
func (w wantedArgs) moved(now []string) []string {
	was, is := common(now, w.there), common(w.there, now)
	var list []string
	for i := range is {
		if was[i] != is[i] {
			list = append(list, is[i])
		}
	}
	return list
}

// common gives the elements of list that other has too, as often.
func common(list, other []string) []string {
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

// firsts gives each element once, where it first is.
func firsts(list []string) []string {
	var once []string
	for _, s := range list {
		if !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return once
}

func count(list []string, s string) int {
	n := 0
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func times(arg string, n int) string {
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
