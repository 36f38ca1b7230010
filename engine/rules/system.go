package rules

import (
	"slices"

	"holdfast/engine"
)

// system compares what the whole machine runs: image, kernel and packages.
func (c *comparison) system(old, new engine.Config) {
	if old.OSImage != new.OSImage {
		c.add(Change{Domain: OS, Name: name(old.OSImage, new.OSImage), Verb: stringVerb(old.OSImage, new.OSImage)}, fixed("os image"))
	}
	if was, is := kernel(old), kernel(new); was != is {
		c.add(Change{Domain: KernelType, Name: is, Verb: Update, Why: "was " + was}, fixed("kernel type"))
	}
	c.kernelArgs(old, new)
	if old.ExtensionsImage != new.ExtensionsImage {
		c.add(Change{Domain: Extension, Name: name(old.ExtensionsImage, new.ExtensionsImage), Verb: stringVerb(old.ExtensionsImage, new.ExtensionsImage), Why: "extensions come from this image"}, fixed("extensions"))
	}
	self := func(s string) string { return s }
	same := func(string, string) bool { return true }
	differences(set(old.Extensions), set(new.Extensions), self, same, func(was, is *string) {
		c.add(Change{Domain: Extension, Name: either(was, is), Verb: verb(was, is)}, fixed("extensions"))
	})
}

// kernelArgs compares the arguments as what they are: a list in which order
// and repetition matter.
func (c *comparison) kernelArgs(old, new engine.Config) {
	add := func(arg string, v Verb, why string) {
		c.add(Change{Domain: KernelArg, Name: arg, Verb: v, Why: why}, fixed("kernel arguments"))
	}
	gone, was := apart(old.KernelArgs, new.KernelArgs)
	come, is := apart(new.KernelArgs, old.KernelArgs)
	for _, arg := range gone {
		add(arg, Delete, "")
	}
	for _, arg := range come {
		add(arg, Create, "")
	}
	for i := range was { // the same arguments, perhaps in another order
		if was[i] != is[i] {
			add(is[i], Update, "stands elsewhere among the kernel arguments")
		}
	}
	for _, arg := range set(new.NoKernelArgs) {
		if !slices.Contains(old.NoKernelArgs, arg) && !slices.Contains(gone, arg) {
			add(arg, Delete, "is not to be there")
		}
	}
	for _, arg := range set(old.NoKernelArgs) {
		if !slices.Contains(new.NoKernelArgs, arg) && !slices.Contains(come, arg) {
			add(arg, Update, "may be there again")
		}
	}
}

// apart divides a list: what other has not, or not as often, and the rest.
func apart(list, other []string) (only, both []string) {
	count := map[string]int{}
	for _, s := range other {
		count[s]++
	}
	for _, s := range list {
		if count[s] > 0 {
			count[s]--
			both = append(both, s)
		} else {
			only = append(only, s)
		}
	}
	return only, both
}

func set(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func kernel(c engine.Config) string {
	if c.KernelType == "" {
		return "default"
	}
	return c.KernelType
}

func name(was, is string) string {
	if is != "" {
		return is
	}
	return was
}

func stringVerb(was, is string) Verb {
	switch {
	case was == "":
		return Create
	case is == "":
		return Delete
	}
	return Update
}
