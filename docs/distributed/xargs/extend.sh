#!/bin/sh
# Extends a model to a length and writes the change alone, as a patch file; prints the plan, or why there is none, as one line of JSON.
#
#   sh extend.sh LENGTH FOLDER MODEL
#
# A patch that is there already is kept, and its model left alone: a second run does the rest. Exit codes 4 (this model cannot be extended so) are no
# failure of the fleet.
set -u
length=$1 folder=$2 model=$3
mkdir -p "$folder"
plain=$model
case $model in *://*) plain=${model%%\?*} ;; esac # a presigned address has its signature behind it
out=$folder/$(printf '%s' "$plain" | cksum | cut -d' ' -f1)-$(basename "$plain")
[ -e "$out.mpatch" ] && exit 0
modelpatch extend --len "$length" "$model" -o "$out" --patch-only --json
case $? in 0 | 4) exit 0 ;; *) exit 1 ;; esac
