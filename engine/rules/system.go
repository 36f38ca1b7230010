package rules

import (
	"cmp"
	"slices"

	"holdfast/engine"
	"holdfast/engine/resource"
)

func (c *comparison) compareSystem(old, new resource.Config) {
	if old.OSImage != new.OSImage {
		c.addChange(Change{Kind: engine.OSKind, Name: cmp.Or(new.OSImage, old.OSImage), Verb: stringVerb(old.OSImage, new.OSImage)}, fixedDecision("os image"))
	}
	if was, is := kernelTypeOf(old), kernelTypeOf(new); was != is {
		c.addChange(Change{Kind: engine.KernelTypeKind, Name: is, Verb: engine.Update, Reason: "was " + was}, fixedDecision("kernel type"))
	}
	c.compareKernelArgs(old, new)
	if old.ExtensionsImage != new.ExtensionsImage {
		c.addChange(Change{Kind: engine.ExtensionKind, Name: cmp.Or(new.ExtensionsImage, old.ExtensionsImage), Verb: stringVerb(old.ExtensionsImage, new.ExtensionsImage), Reason: "extensions come from this image"}, fixedDecision("extensions"))
	}
	self := func(s string) string { return s }
	same := func(string, string) bool { return true }
	walkDifferences(sortUnique(old.Extensions), sortUnique(new.Extensions), comparer[string]{self, same}, func(was, is *string) {
		c.addChange(Change{Kind: engine.ExtensionKind, Name: newOrOld(was, is), Verb: changeVerb(was, is)}, fixedDecision("extensions"))
	})
}

func (c *comparison) compareKernelArgs(old, new resource.Config) {
	add := func(arg string, v engine.Verb, why string) {
		c.addChange(Change{Kind: engine.KernelArgKind, Name: arg, Verb: v, Reason: why}, fixedDecision("kernel arguments"))
	}
	gone, was := splitCommon(old.KernelArgs, new.KernelArgs)
	come, is := splitCommon(new.KernelArgs, old.KernelArgs)
	for _, arg := range gone {
		add(arg, engine.Delete, "")
	}
	for _, arg := range come {
		add(arg, engine.Create, "")
	}
	for i := range was { // both lists have these arguments, possibly in another order
		if was[i] != is[i] {
			add(is[i], engine.Update, "moved within the kernel arguments")
		}
	}
	for _, arg := range sortUnique(new.NoKernelArgs) {
		if !slices.Contains(old.NoKernelArgs, arg) && !slices.Contains(gone, arg) {
			add(arg, engine.Delete, "is forbidden")
		}
	}
	for _, arg := range sortUnique(old.NoKernelArgs) {
		if !slices.Contains(new.NoKernelArgs, arg) && !slices.Contains(come, arg) {
			add(arg, engine.Update, "is no longer forbidden")
		}
	}
}

func splitCommon(list, other []string) (only, both []string) {
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

func sortUnique(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func kernelTypeOf(c resource.Config) string {
	if c.KernelType == "" {
		return "default"
	}
	return c.KernelType
}

func stringVerb(was, is string) engine.Verb {
	switch {
	case was == "":
		return engine.Create
	case is == "":
		return engine.Delete
	}
	return engine.Update
}
