package modules

import "holdfast/engine"

// InitialRecord is what a host has at engine.AppliedPath that was provisioned with a
// configuration (compact), so that it has it from the beginning. Which of its
// directories were there before is not known: they all stay when they leave
// the configuration.
func InitialRecord(c engine.Config) []byte {
	a := engine.Applied{Schema: engine.AppliedSchema, Config: c}
	for _, d := range c.Directories {
		a.Existed = append(a.Existed, d.Path)
	}
	return encodeApplied(a)
}
