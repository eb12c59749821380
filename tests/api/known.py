"""The description of the API with the ids of real runs, tracks and scopes as examples, so that questions reach what they are about."""

import json
import sys
import urllib.request

description, runs, address = sys.argv[1:]
origin, token = address.split("/?token=")


def ask(path):
    request = urllib.request.Request(f"{origin}/api/{path}", headers={"Authorization": f"Bearer {token.strip()}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


ids = [run["id"] for run in ask("runs")["runs"]]
tracks = [track for run in ids for track in ask(f"runs/{run}/tracks")["tracks"]]
slices = [hit["id"] for run in ids for word in ("step", "batch", "kernel") for hit in ask(f"runs/{run}/search?q={word}&limit=3")["hits"]]
known = {
    "run": ids + ["missing"],
    "other": ids + ["missing"],
    "track": [track["id"] for track in tracks if track["kind"] in ("thread", "stream")][:4] + ["1,2", "999999"],
    "span": slices + ["1", "18446744073709551615"],
    "kernel": slices + ["1"],
    "mark": [track["mark"] for track in tracks if track["kind"] == "marks"] + ["missing"],
    "series": [track["series"] for track in tracks if track["kind"] == "series"] + ["missing"],
}
with open(description, encoding="utf-8") as file:
    document = json.load(file)
for methods in document["paths"].values():
    for operation in methods.values():
        for parameter in operation.get("parameters", []):
            # Half of what is asked is of something that is there.
            if parameter["name"] in known and parameter["in"] == "path":
                parameter["schema"] = {"anyOf": [{"enum": known[parameter["name"]]}, parameter["schema"]]}
            elif parameter["name"] == "track":
                parameter["schema"] = {"anyOf": [{"enum": known["track"]}, parameter["schema"]]}
json.dump(document, sys.stdout)
