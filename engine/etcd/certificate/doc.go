// Package certificate describes and checks the certificates that an etcd member
// presents, and those that holdfast uses as its client.
package certificate
