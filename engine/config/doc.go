// Package config reads the documents that describe the desired state of a host:
// Butane, Ignition 3.0 to 3.6 (2.0 to 2.3 are converted) and MachineConfig. It merges them
// as the OpenShift
// Machine Config Operator does, and returns a resource.Config.
//
// The package never ignores a setting silently. It refuses a setting that a running host
// cannot have, and reports all problems at once, with file, line, path and next
// step. Messages name fields and never contain values, because any value may be
// a secret.
package config
