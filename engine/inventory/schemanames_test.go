package inventory

import (
	"reflect"
	"strings"
	"testing"

	"holdfast/engine"
)

// otherNames lists the arguments and blocks that have another name in the JSON of
// the inventory, or none, with the reason.
var otherNames = map[string]string{
	"range": "the JSON lists the hosts of a range", "variable": "the JSON has its value", "default": "the JSON has the value of the variable",
	"sensitive": "the JSON hides its value", "description": "is for people", "locals": "the JSON has their values",
	"content": "is a configuration, which the JSON does not have",

	"etcd_cluster": "is cluster, or a list: each cluster in JSON is one of etcd", "etcd_retired": "is retired, for the same reason", "near_etcd_cluster": "is near_cluster, for the same reason",
	"governor": "is not_governed, because it is true by default", "snapshot": "is no_snapshot, because it is true by default", "manage": "is the object managed",
	"snapshot_folder": "is folder of snapshots", "snapshot_keep": "is keep of snapshots", "snapshot_max_age": "is max_age of snapshots",
	"rate": "is bytes_per_second, because numbers have a unit in JSON", "host_rate": "is host_bytes_per_second, for the same reason",
	"scheme": "is the object tls, or none", "kind": "is the object kubernetes of a drain, or none", "identity": "is always a list: identities",
}

// TestNamesInJSON checks that arguments and blocks have the same name in the
// inventory and in the JSON of validate. A block that may be given more than once
// is a list, whose name has the plural. A text with a unit is a number, whose name
// has the unit.
func TestNamesInJSON(t *testing.T) {
	names := map[string]bool{}
	collectNames(reflect.TypeFor[engine.Inventory](), names)
	used := map[string]bool{}
	check := func(name string) {
		_, differs := otherNames[name]
		switch found := names[name] || names[name+"s"] || names[name+"_bytes"] || names[name+"_minutes"]; {
		case differs:
			used[name] = true
			if names[name] {
				t.Errorf("%s has this name in JSON; remove it from otherNames", name)
			}
		case !found:
			t.Errorf("%s has another name in JSON; rename one, or give the reason in otherNames", name)
		}
	}
	var visit func(b block)
	visit = func(b block) {
		for _, a := range b.arguments {
			check(a.name)
		}
		for _, c := range b.blocks {
			check(c.name)
			visit(c)
		}
	}
	visit(inventorySchema())
	for name := range otherNames {
		if !used[name] {
			t.Errorf("no argument and no block is called %s", name)
		}
	}
}

func collectNames(typ reflect.Type, names map[string]bool) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		return
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names[name] = true
		}
		if f.Tag.Get("json") != "-" {
			collectNames(f.Type, names)
		}
	}
}

// TestOtherWords checks that each hint names something that a block can have, and
// no name that is already known there.
func TestOtherWords(t *testing.T) {
	known := map[string]bool{}
	var visit func(b block)
	visit = func(b block) {
		for _, name := range b.knownNames() {
			known[name] = true
		}
		for _, c := range b.blocks {
			visit(c)
		}
	}
	visit(inventorySchema())
	for word, name := range otherWords {
		if !known[name] {
			t.Errorf("%s: no block can have %s", word, name)
		}
	}
}
