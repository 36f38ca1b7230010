package config

import (
	"slices"

	"holdfast/engine"
)

// settingPlaces returns the place of each system setting in the last document
// that has it. For the OS image, it is the document whose image is in effect.
func (b *builder) settingPlaces() map[string]engine.SourcePosition {
	found := map[string]engine.SourcePosition{}
	note := func(name string, said bool, at func() engine.SourcePosition) {
		if _, known := found[name]; said && !known {
			found[name] = at()
		}
	}
	for _, d := range slices.Backward(b.docs) {
		spec := func(p ...any) func() engine.SourcePosition {
			return func() engine.SourcePosition { return d.specPlace(p...) }
		}
		ign := func(p ...any) func() engine.SourcePosition {
			return func() engine.SourcePosition { return d.ignitionPlace(p) }
		}
		s, k := d.spec, d.ignition.KernelArguments
		note("osImageURL", s.OSImageURL != "" && s.OSImageURL == b.spec.OSImageURL, spec("osImageURL"))
		note("baseOSExtensionsContainerImage", s.BaseOSExtensionsContainerImage != "", spec("baseOSExtensionsContainerImage"))
		note("extensions", len(s.Extensions) > 0, spec("extensions", 0))
		note("kernelType", s.KernelType != "" && s.KernelType != "default", spec("kernelType"))
		note("kernelArguments", len(s.KernelArguments) > 0, spec("kernelArguments", 0))
		note("kernelArguments", len(k.ShouldExist) > 0, ign("kernelArguments", "shouldExist", 0))
		note("kernelArguments", len(k.ShouldNotExist) > 0, ign("kernelArguments", "shouldNotExist", 0))
		note("fips", s.FIPS, spec("fips"))
	}
	return found
}
