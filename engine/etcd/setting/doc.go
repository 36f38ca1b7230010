// Package setting compares the settings of etcd that an inventory has with those on a host, and says whether a member can be given
// the others. It touches nothing.
package setting
