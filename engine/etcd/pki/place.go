package pki

import (
	_ "embed" // scripts

	"holdfast/engine/hostscript"
)

//go:embed sh/enter.sh
var enterScript string

//go:embed sh/probe.sh
var probeScript string

//go:embed sh/request.sh
var requestScript string

//go:embed sh/finish.sh
var finishScript string

//go:embed sh/place.sh
var placeScript string

//go:embed sh/trust.sh
var trustScript string

//go:embed sh/own.sh
var ownScript string

// Place has the names on a host that scripts for certificates need.
type Place struct {
	Folder   string // of the certificates; only root may write to it and to the folders above
	Unit     string // of etcd
	User     string // that the unit will have; "": the one that it has
	Settings string // path of holdfast's settings of etcd

	root string // prefix of all paths, for tests
}

func (p Place) script(body string, values [][2]string) string {
	values = append([][2]string{{"root", p.root}, {"dir", p.Folder}, {"unit", p.Unit}, {"user", p.User}, {"settings", p.Settings}}, values...)
	return hostscript.Assign(values) + enterScript + hostscript.GroundScript + body
}

// OwnScript returns a script that gives the keys to the account that etcd runs as: they may be those of an earlier member,
// with another account. It must run in a subshell if others follow, because it ends the shell.
func (p Place) OwnScript() string { return p.script(ownScript, nil) }
