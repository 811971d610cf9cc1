"""Prints what TensorBoard reads in a folder, as JSON: scalars, histograms, settings."""

import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata

everything = {"scalars": 0, "histograms": 0, "tensors": 0}
read = EventAccumulator(sys.argv[1], size_guidance=everything)
read.Reload()
row = next(iter(read.PluginTagToContent("hparams").values()))
row = metadata.parse_session_start_info_plugin_data(row)


def value(setting):
    return getattr(setting, setting.WhichOneof("kind"))


def histogram(event):
    histo = event.histogram_value
    return [event.step, histo.min, histo.max, histo.num, histo.sum, len(histo.bucket), sum(histo.bucket)]


print(
    json.dumps(
        {
            "scalars": {
                tag: [[event.step, event.value] for event in read.Scalars(tag)]
                for tag in read.Tags()["scalars"]
            },
            "histograms": {
                tag: [histogram(event) for event in read.Histograms(tag)]
                for tag in read.Tags()["histograms"]
            },
            "texts": list(read.PluginTagToContent("text")),
            "settings": read.Tensors("settings")[0].tensor_proto.string_val[0].decode(),
            "hparams": {name: value(setting) for name, setting in row.hparams.items()},
        }
    )
)
