package hostconfig

import "holdfast/engine"

// InitialRecord returns the file to put at engine.RecordPath of a host that is
// provisioned with a (compact) configuration. It is unknown which of its
// directories existed before, so none of them is removed when it leaves the
// configuration.
func InitialRecord(c engine.Config) []byte {
	a := engine.Record{Schema: engine.RecordSchema, Config: c}
	for _, d := range c.Directories {
		a.Existed = append(a.Existed, d.Path)
	}
	return encodeApplied(a)
}
