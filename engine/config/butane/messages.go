package butane

import (
	"strings"

	"github.com/coreos/ignition/v2/butane/config/common"
)

// Explain translates a message of Butane into a text that says how to correct
// the document. ok is false for unknown messages. Do not show unknown messages:
// they may quote secrets of the document.
func Explain(message string) (text string, ok bool) {
	if strings.HasSuffix(message, "no such file or directory") {
		return "names a local file that does not exist; its path starts at the document's folder, or at the nearest folder above, up to that of the inventory, that has all local files of the document", true
	}
	for _, w := range translations {
		if w.err.Error() == message {
			return w.text, true
		}
	}
	return "", false
}

type translation struct {
	err  error
	text string
}

// translations maps the errors that users of Butane commonly meet.
var translations = []translation{
	{wrongTypeError{}, "has a value of the wrong type; compare it with Butane's specification"},
	{common.ErrNoVariant, "has no variant; write variant: fcos, or openshift"},
	{common.ErrInvalidVersion, "has no version such as 1.5.0; write version: 1.5.0"},
	{common.ErrRhcosVariantUnsupported, "has the variant rhcos, which no longer exists; use openshift"},
	{common.ErrTooManyResourceSources, "has more than one of inline, local and source; keep one"},
	{common.ErrFilesDirEscape, "names a local file outside the document's folder; name it without .., from a folder above the document"},
	{common.ErrFileType, "has a special file in the tree; remove it"},
	{common.ErrNodeExists, "is in the tree and in another part of the document; keep one"},
	{common.ErrTreeNotDirectory, "is not a directory; name a directory for the tree"},
	{common.ErrTreeNoLocal, "has no local; name the directory"},
	{common.ErrDecimalMode, "looks like an octal mode written in decimal; begin it with a zero, as in 0644"},
	{common.ErrTooManySystemdSources, "has both contents and contents_local; keep one"},
	{common.ErrMountUnitNoPath, "has with_mount_unit but no path; give one"},
	{common.ErrMountUnitNoFormat, "has with_mount_unit but no format; give one"},
	{common.ErrMountPointForbidden, "must be below /etc or /var with with_mount_unit"},
	{common.ErrUnknownBootDeviceLayout, "is not a layout; use aarch64, ppc64le, s390x-eckd, s390x-virt, s390x-zfcp or x86_64"},
	{common.ErrTooFewMirrorDevices, "mirrors fewer than two devices; name more"},
	{common.ErrReuseByLabel, "names a partition by label only; give its number"},
	{common.ErrNameRequired, "has no metadata.name; give one, as in 99-worker-chrony"},
	{common.ErrRoleRequired, "has no label machineconfiguration.openshift.io/role; give one"},
	{common.ErrInvalidKernelType, "must be default or realtime"},
	{common.ErrBtrfsSupport, "is btrfs, which this variant does not support"},
	{common.ErrFilesystemNoneSupport, "is none, which this variant does not support"},
	{common.ErrFileSchemeSupport, "must be inline or local in this variant"},
	{common.ErrFileAppendSupport, "appends, which this variant does not support; write the whole file, or use the variant fcos"},
	{common.ErrFileCompressionSupport, "is compressed, which this variant does not support; remove compression"},
	{common.ErrFileHeaderSupport, "has HTTP headers, which this variant does not support"},
	{common.ErrFileSpecialModeSupport, "has setuid, setgid or sticky bits, which are not supported; use permission bits up to 0777"},
	{common.ErrGroupSupport, "is not supported by this variant; use the variant fcos for groups"},
	{common.ErrUserFieldSupport, "is not supported by this variant; it takes name, ssh_authorized_keys and password_hash"},
	{common.ErrUserNameSupport, "must be core in this variant; use the variant fcos for other users"},
	{common.ErrKernelArgumentSupport, "is not supported by this variant; use openshift.kernel_arguments"},
	{common.ErrDirectorySupport, "is not supported by this variant; use the variant fcos for directories"},
	{common.ErrLinkSupport, "is not supported by this variant; use the variant fcos for links"},
	{common.ErrDiskSupport, "is not supported by this variant"},
	{common.ErrFilesystemSupport, "is not supported by this variant"},
	{common.ErrLuksSupport, "is not supported by this variant"},
	{common.ErrRaidSupport, "is not supported by this variant"},
	{common.ErrClevisSupport, "is not supported by this variant"},
	{common.ErrGrubUserNameNotSpecified, "has no name; give one"},
	{common.ErrGrubPasswordNotSpecified, "has no password_hash; give one"},
	{common.ErrGeneralKernelArgumentSupport, "is not supported by this variant"},
	{common.ErrInvalidSourceConfig, "is not valid; correct the other problems of this document first"},
	{common.ErrInvalidGeneratedConfig, "becomes an Ignition config that is not valid; correct the other problems of this document first"},
	{common.ErrNoFilesDir, "names a local file, but the document is in no folder; write the contents into the document (inline)"},
	{common.ErrQuadletBadExtension, "is not the name of a quadlet; end it with .container, .volume, .network, .kube, .image, .build, .pod or .artifact"},
	{common.ErrTemplateInstanceCannotHaveContents, "is an instance with contents; put the contents into its template (NAME@.service)"},
	{common.ErrUnknownBootDeviceLayoutLegacy, "is not a layout of this version; use aarch64, ppc64le or x86_64"},
	{common.ErrMirrorRequiresLayout, "has a mirror but no layout; add layout: x86_64, aarch64 or ppc64le"},
	{common.ErrNoLuksBootDevice, "is missing; the layouts s390x-eckd and s390x-zfcp need the device"},
	{common.ErrMirrorNotSupport, "is a mirror, which the layouts s390x-eckd, s390x-zfcp and s390x-virt do not support; remove it"},
	{common.ErrLuksBootDeviceBadName, "is not a device of this layout; begin it with /dev/dasd (s390x-eckd) or /dev/sd (s390x-zfcp)"},
	{common.ErrCexArchitectureMismatch, "is cex, which exists on s390x only; use a layout of s390x, or remove it"},
	{common.ErrCexNotSupported, "is cex, which this variant or version does not support; remove it"},
	{common.ErrNoLuksMethodSpecified, "has no method to unlock it; add tpm2, tang or cex"},
	{common.ErrMissingKernelArgumentCex, "needs the kernel argument rd.luks.key=/etc/luks/cex.key, because the boot device uses cex; add it"},
	{common.ErrWrongPartitionNumber, "is not the number of the partition with this label; a new partition would be made: correct it"},
	{common.ErrRootTooSmall, "leaves less than 8 GiB for the root partition; updates of the OS may not fit: make it larger"},
	{common.ErrRootConstrained, "follows the root partition, which therefore cannot grow; give the root partition a size, or give this one a start"},
	{common.ErrUnkownIgnitionVersion, "is a config of a version that Butane does not know; it is checked only as far as holdfast knows it"},
	{common.ErrFieldElided, "is not used by this variant; remove it"},
}

type wrongTypeError struct{}

func (wrongTypeError) Error() string { return wrongTypeMessage }
