// Package tables writes the tables of status, etcd, holds and runs.
package tables
