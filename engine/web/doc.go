// Package web sends HTTP requests from the bastion: the requests of gates, and
// downloads of contents that documents name by address and hash.
package web
