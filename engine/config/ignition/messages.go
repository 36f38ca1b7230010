package ignition

import (
	"strings"

	"github.com/coreos/ignition/v2/config/shared/errors"

	"holdfast/engine/config/butane"
	"holdfast/engine/config/syntax"
)

// ExplainMessage translates a message of the Ignition or Butane library into a
// text that names the problem and, where it can, the correction. It hides unknown messages,
// because some of them quote the document, which may contain secrets.
func ExplainMessage(message string) syntax.Explanation {
	if text, ok := translateMessage(message); ok {
		return syntax.Explanation{Text: text}
	}
	return syntax.VagueExplanation()
}

func translateMessage(message string) (text string, ok bool) {
	for _, w := range translations {
		if w.err.Error() == message {
			return w.text, true
		}
	}
	if text, ok := butane.Explain(message); ok {
		return text, true
	}
	switch {
	case strings.HasPrefix(message, "unused key "):
		return "is not a field of Butane's specification; correct its name or remove it", true
	case strings.HasPrefix(message, "invalid unit content"):
		return "is not a systemd unit file; it needs [Section] lines with NAME=VALUE below them", true
	case strings.Contains(message, "has no install section"), strings.Contains(message, "doesn't have Install section"):
		return "is enabled, but it or its template has no [Install] section, so that enabling it does nothing; add the section there", true
	}
	return "", false
}

type translation struct {
	err  error
	text string
}

// translations maps common errors of the Ignition library to the texts that
// holdfast shows.
var translations = []translation{
	{errors.ErrDuplicate, "is in this document more than once; keep one"},
	{errors.ErrInvalidVersion, "is not a version; write 3.4.0, for example"},
	{errors.ErrUnknownVersion, ExplainVersion("")},
	{errors.ErrCompressionInvalid, "is not a compression; use gzip, or remove compression"},
	{errors.ErrFileUsedSymlink, "is a file below a path that is a link in this document; write the path the link leads to"},
	{errors.ErrDirectoryUsedSymlink, "is a directory below a path that is a link in this document; write the path the link leads to"},
	{errors.ErrLinkUsedSymlink, "is a link below a path that is a link in this document; write the path the link leads to"},
	{errors.ErrLinkTargetRequired, "is missing; set the target of the link"},
	{errors.ErrHardLinkToDirectory, "is a hard link to a directory; make it a symbolic one"},
	{errors.ErrHardLinkSpecifiesOwner, "has no effect: a hard link has the owner of its target; remove this field"},
	{errors.ErrOverwriteAndNilSource, "overwrites without contents; give contents.source, or remove overwrite"},
	{errors.ErrVerificationAndNilSource, "is a hash without a source; give the source, or remove the hash"},
	{errors.ErrFileIllegalMode, "is not a file mode; use 0 to 07777 (420 in JSON is 0644)"},
	{errors.ErrModeSpecialBits, "has setuid, setgid or sticky bits, which need Ignition 3.6.0 (fcos 1.7.0); use that version, or bits up to 0777 (JSON has no octal: 0644 is 420)"},
	{errors.ErrBothIDAndNameSet, "has both id and name; keep one"},
	{errors.ErrNoPath, "is missing; give the absolute path"},
	{errors.ErrPathRelative, "is not absolute; begin it with /"},
	{errors.ErrDirtyPath, "is not in its simplest form; remove doubled slashes, . and .. and the slash at the end"},
	{errors.ErrPathConflictsSystemd, "is also written by systemd.units; keep one"},
	{errors.ErrInvalidSystemdExt, "is not the name of a unit; end it with .service, .socket, .mount, .timer …"},
	{errors.ErrInvalidSystemdDropinExt, "is not the name of a drop-in; end it with .conf"},
	{errors.ErrSourceRequired, "has no source; give one"},
	{errors.ErrInvalidScheme, "has a scheme that Ignition does not know; use data:, http:// or https://"},
	{errors.ErrInvalidUrl, "is not a URL; write for example data:,TEXT or https://HOST/FILE"},
	{errors.ErrUnsupportedSchemeForHTTPHeaders, "need an http or https source; remove them"},
	{errors.ErrHashMalformed, "is not a hash; write sha256-… or sha512-… with hexadecimal digits"},
	{errors.ErrHashWrongSize, "has the wrong length; sha256 has 64 hexadecimal digits, sha512 has 128"},
	{errors.ErrHashUnrecognized, "has an unknown hash function; use sha256 or sha512"},
	{errors.ErrDiskDeviceRequired, "is missing; give the path of the disk"},
	{errors.ErrPartitionNumbersCollide, "has the number of another partition; change one"},
	{errors.ErrPartitionsOverlap, "overlaps another partition; correct start and size"},
	{errors.ErrPartitionsMisaligned, "is misaligned; correct start and size"},
	{errors.ErrFilesystemInvalidFormat, "is not a filesystem that Ignition makes; use xfs, ext4, btrfs, vfat or swap"},
	{errors.ErrFormatNilWithOthers, "is missing; give the filesystem's format"},
	{errors.ErrRaidLevelRequired, "is missing; give the level, raid1 for example"},
	{errors.ErrRaidDevicesRequired, "is missing; name the devices of the array"},
	{errors.ErrUnrecognizedRaidLevel, "is not a RAID level; use raid1, for example"},
	{errors.ErrShouldNotExistWithOthers, "has shouldExist = false and other settings; remove shouldExist, or the other settings"},
	{errors.ErrNeedLabelOrNumber, "has neither number nor label; give one"},
	{errors.ErrDuplicateLabels, "has a label that another partition has; change one"},
	{errors.ErrDoesntMatchGUIDRegex, "is not a GUID"},
	{errors.ErrInvalidProxy, "is not a proxy; use an http or https URL"},
	{errors.ErrTangThumbprintRequired, "is missing; give Tang's thumbprint"},
	{errors.ErrPartitionsOverwritten, "is a disk with partitions, which the filesystem would overwrite; name a partition"},
	{errors.ErrFilesystemImplicitWipe, "is wiped together with its disk"},
	{errors.ErrInvalid, "is not a valid config; correct the other problems of this document first"},
	{errors.ErrEmpty, "is empty; write a config, or remove it"},
	{errors.ErrDeprecated, "has a format that is no longer supported; write Ignition " + LatestVersion},
	{errors.ErrLabelNeedsFormat, "has a label but no format; give the format of the filesystem"},
	{errors.ErrExt4LabelTooLong, "is longer than the 16 characters of a label of ext4; shorten it"},
	{errors.ErrBtrfsLabelTooLong, "is longer than the 256 characters of a label of btrfs; shorten it"},
	{errors.ErrXfsLabelTooLong, "is longer than the 12 characters of a label of xfs; shorten it"},
	{errors.ErrSwapLabelTooLong, "is longer than the 15 characters of a label of swap; shorten it"},
	{errors.ErrVfatLabelTooLong, "is longer than the 11 characters of a label of vfat; shorten it"},
	{errors.ErrVirtiofsCannotHaveLabel, "is a label, which virtiofs does not have; remove it"},
	{errors.ErrVirtiofsDeviceTagTooLong, "is longer than the 36 bytes of a device tag of virtiofs; shorten it"},
	{errors.ErrUUIDNotSupportedForFormat, "is a UUID, but a filesystem of this format is on no block device; remove it"},
	{errors.ErrWipeNotSupportedForFormat, "has no effect, because a filesystem of this format is on no block device; remove it"},
	{errors.ErrMkfsOptionsNotSupportedForFormat, "are options of mkfs, but a filesystem of this format is on no block device; remove them"},
	{errors.ErrLuksLabelTooLong, "is longer than the 47 characters of a LUKS label; shorten it"},
	{errors.ErrLuksNameContainsSlash, "has a slash, which a device name cannot have; remove it"},
	{errors.ErrInvalidLuksKeyFile, "is not a source for a key file; use a data: URL, or https:// with a hash"},
	{errors.ErrClevisPinRequired, "is missing; give the pin of the custom clevis config"},
	{errors.ErrUnknownClevisPin, "is not a clevis pin; use tpm2, tang or sss, or Ignition 3.6.0 for other pins"},
	{errors.ErrClevisConfigRequired, "is missing; give the config of the custom clevis pin"},
	{errors.ErrClevisCustomWithOthers, "is a custom clevis config next to tpm2, tang or threshold; keep one"},
	{errors.ErrInvalidTangAdvertisement, "is not valid JSON; copy the advertisement of the Tang server again"},
	{errors.ErrLabelTooLong, "is longer than the 36 characters of a partition label; shorten it"},
	{errors.ErrLabelContainsColon, "is cut off at its colon; write a label without one"},
	{errors.ErrNoDevice, "is missing; give the path of the device"},
	{errors.ErrSparesUnsupportedForLevel, "are spares, which linear and raid0 arrays do not have; remove them, or use another level"},
	{errors.ErrInsecureProxy, "is a plain http proxy for https; use an https proxy if the path to it is not trusted"},
	{errors.ErrCexWithClevis, "has cex and clevis; keep one"},
	{errors.ErrCexWithKeyFile, "has cex and a key file; keep one"},
	{errors.ErrNoSystemdExt, "has no extension; end the name of the unit with .service, .socket, .mount, .timer …"},
	{errors.ErrInvalidInstantiatedUnit, "is not the name of an instance; write NAME@INSTANCE.service, for example"},
	{errors.ErrInvalidHTTPHeader, "is not an HTTP header; give a name and a value"},
	{errors.ErrEmptyHTTPHeaderName, "has no name; name the header"},
	{errors.ErrEngineConfiguration, "cannot be checked, because of an error in holdfast; report it"},
	{errors.ErrInvalidS3ARN, "is not an ARN of S3, which holdfast does not fetch; embed the contents as a data: URL (Butane: inline or local)"},
	{errors.ErrInvalidS3ObjectVersionId, "is not a version of an S3 object, which holdfast does not fetch; embed the contents as a data: URL (Butane: inline or local)"},
	{errors.ErrFilePermissionsUnset, "has no mode; it becomes 0644"},
	{errors.ErrDirectoryPermissionsUnset, "has no mode; it becomes 0755"},
}
