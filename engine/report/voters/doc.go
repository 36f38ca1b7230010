// Package voters counts the healthy voters of etcd clusters during a run.
package voters
