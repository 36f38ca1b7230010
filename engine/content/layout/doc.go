// Package layout reads and fills OCI image layouts: folders with oci-layout, index.json and blobs. It lists the blobs of an
// image, and checks that they are there and undamaged. Nothing outside of the folder is read or written.
package layout
