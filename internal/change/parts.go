package change

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// uploadScript is the name of the script that puts parts together.
const uploadScript = "upload.sh"

// writeParts writes a new file as an upload to S3 in parts: a folder with the parts that are not ranges of
// the old file, and a script that copies the others inside the store (UploadPartCopy). The new model is
// looked at before, as it would be.
func (c *writing) writeParts(ctx context.Context, target string) error {
	if len(c.plan.Outputs) != 1 {
		return &position.UsageError{What: "a model of several files is not written as parts of one upload", Hint: "write a patch of each file, or a new model"}
	}
	m, err := preview(c.old, c.plan)
	if err != nil {
		return err
	}
	err = c.checkModel(m)
	m.Close()
	if err != nil {
		return &patch.OutputError{Op: "check", Path: target, Err: err, Hint: "this is a mistake of modelpatch: please report it; nothing was written"}
	}
	parts, err := c.plan.Parts(0, patch.LeastPart, patch.MostPart)
	if err != nil {
		return &patch.RefusedError{Path: source.ShownPath(c.path), Why: err.Error(), Instead: "write a new file"}
	}
	in := c.plan.Inputs[c.plan.Outputs[0].Input]
	from := in.Reader
	if from == nil {
		file, _, err := regular.Open(in.Path)
		if err != nil {
			return source.CannotOpen(in.Path, err)
		}
		defer file.Close()
		from = file
	}
	if err := os.Mkdir(target, 0o777); err != nil && !(errors.Is(err, fs.ErrExist) && c.w.Force) {
		return &patch.OutputError{Op: "create", Path: target, Err: err, Hint: "name a folder that is not there"}
	}
	if c.w.Fetching != nil && in.Reader != nil {
		n := int64(0)
		for _, p := range parts {
			if !p.Copied {
				n += p.Size
			}
		}
		c.w.Fetching(in.Path, n)
	}
	view := c.plan.View(0, from)
	for i, p := range parts {
		if p.Copied {
			continue
		}
		w, err := patch.Save(ctx, c.plan.Inputs, filepath.Join(target, partName(i)), c.w.saving(), func(w io.Writer) error {
			_, err := io.Copy(w, io.NewSectionReader(view, p.At, p.Size))
			return err
		})
		if err != nil {
			return err
		}
		noteWritten(c.out, w, "part")
	}
	script := partsScript(parts, in, filepath.Base(source.ShownPath(c.path)), c.command)
	w, err := patch.Save(ctx, c.plan.Inputs, filepath.Join(target, uploadScript), c.w.saving(), func(w io.Writer) error {
		_, err := io.WriteString(w, script)
		return err
	})
	if err != nil {
		return err
	}
	noteWritten(c.out, w, "script")
	return nil
}

func partName(i int) string { return fmt.Sprintf("part-%05d", i+1) }

// partsScript is a script for the AWS command line tool. It ends the upload when it fails.
func partsScript(parts []patch.OutputPart, in patch.Input, name, command string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `#!/bin/sh
# Makes the result of "modelpatch %s" of %s in S3, without sending what both have: those
# ranges are copied inside the store. Needs the AWS command line tool.
#
#   sh %s s3://BUCKET/SOURCE s3://BUCKET/TARGET
set -eu
if [ $# -ne 2 ]; then
  echo "usage: sh $0 s3://BUCKET/SOURCE s3://BUCKET/TARGET" >&2
  exit 2
fi
source=${1#s3://} target=${2#s3://}
case "$source$target" in *[!A-Za-z0-9._/=-]*)
  echo "names of other than letters, digits, . _ / = - are not supported" >&2
  exit 2 ;;
esac
cd "$(dirname "$0")"
size=$(aws s3api head-object --bucket "${source%%%%/*}" --key "${source#*/}" --query ContentLength --output text)
etag=$(aws s3api head-object --bucket "${source%%%%/*}" --key "${source#*/}" --query ETag --output text)
if [ "$size" != %d ]; then
  echo "$1 has $size bytes, and the change was made for %d" >&2
  exit 1
fi
`, commented(command), commented(name), uploadScript, in.Size, in.Size)
	if v, ok := in.Reader.(interface{ Version() string }); ok && strings.HasPrefix(v.Version(), `"`) && !strings.ContainsAny(v.Version(), "'\n") {
		fmt.Fprintf(&b, `if [ "$etag" != '%s' ]; then
  echo "$1 is another version (ETag $etag) than the change was made for" >&2
  exit 1
fi
`, v.Version())
	}
	b.WriteString(`at="--bucket ${target%%/*} --key ${target#*/}"
id=$(aws s3api create-multipart-upload $at --query UploadId --output text)
trap '[ -z "$id" ] || aws s3api abort-multipart-upload $at --upload-id "$id"' EXIT
parts=
copy() { # NUMBER FIRST LAST
  tag=$(aws s3api upload-part-copy $at --upload-id "$id" --part-number "$1" --copy-source "$source" --copy-source-if-match "$etag" \
    --copy-source-range "bytes=$2-$3" --query CopyPartResult.ETag --output text)
  parts="$parts,{\"PartNumber\":$1,\"ETag\":$tag}"
}
send() { # NUMBER FILE
  tag=$(aws s3api upload-part $at --upload-id "$id" --part-number "$1" --body "$2" --query ETag --output text)
  parts="$parts,{\"PartNumber\":$1,\"ETag\":$tag}"
}
`)
	for i, p := range parts {
		if p.Copied {
			fmt.Fprintf(&b, "copy %d %d %d\n", i+1, p.From, p.From+p.Size-1)
		} else {
			fmt.Fprintf(&b, "send %d %s\n", i+1, partName(i))
		}
	}
	b.WriteString(`aws s3api complete-multipart-upload $at --upload-id "$id" --multipart-upload "{\"Parts\":[${parts#,}]}" --query ETag --output text
id=
`)
	return b.String()
}

// commented makes a text fit for a comment of a script.
func commented(s string) string {
	return strings.NewReplacer("\n", " ", "\r", " ").Replace(report.Printable(s))
}
