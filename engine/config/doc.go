// Package config reads the documents that say what a host is to be: Butane,
// Ignition 3.0 to 3.5 and MachineConfig. It merges them as the OpenShift
// Machine Config Operator does and gives an engine.Config.
//
// Nothing is accepted and then ignored: what cannot be done on a running host
// is refused with file, line, path and what to do instead, everything that is
// wrong at once. Messages name fields and never show values: any value may be
// secret.
package config
