//! The panels as a Grafana dashboard.

use crate::panel::{DashboardPanel, PANELS, PanelLimit, Picture};
use crate::threshold::with_thresholds;
use serde_json::{Value, json};

/// Width of Grafana's grid, in units.
const WIDTH: u32 = 24;

/// The dashboard as JSON.
pub fn dashboard() -> String {
    let (mut x, mut y, mut height) = (0, 0, 0);
    let mut panels = Vec::new();
    for (id, panel) in (1..).zip(PANELS) {
        let (w, h) = match panel.picture {
            Picture::Figure => (WIDTH / 4, 5),
            Picture::Curves => (WIDTH / 2, 8),
        };
        if x + w > WIDTH || (x > 0 && h != height) {
            (x, y) = (0, y + height);
        }
        height = h;
        panels.push(drawn(panel, id, json!({"x": x, "y": y, "w": w, "h": h})));
        x += w;
    }
    let dashboard = json!({
        "uid": "recrawl",
        "title": "recrawl",
        "description": "Metrics of a recrawl crawl",
        "tags": ["recrawl"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": {"from": "now-24h", "to": "now"},
        "templating": {"list": [
            {"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
            {"name": "instance", "type": "query", "label": "Instance", "datasource": source(),
             "query": "label_values(recrawl_build_info, instance)", "includeAll": true, "multi": true,
             "current": {"text": ["All"], "value": ["$__all"]}, "refresh": 2},
        ]},
        "panels": panels,
    });
    serde_json::to_string_pretty(&dashboard).expect("a dashboard is plain data") + "\n"
}

fn source() -> Value {
    json!({"type": "prometheus", "uid": "${source}"})
}

fn drawn(panel: &DashboardPanel, id: u32, place: Value) -> Value {
    let targets: Vec<Value> = ('A'..)
        .zip(panel.curves)
        .map(|(letter, (query, name))| {
            let query = with_thresholds(query).replace("{}", "{INSTANCE}");
            let query = query.replace("INSTANCE", "instance=~\"$instance\"");
            json!({"refId": letter.to_string(), "expr": query, "legendFormat": name, "datasource": source()})
        })
        .collect();
    let (kind, options) = match panel.picture {
        Picture::Figure => {
            ("stat", json!({"textMode": "value_and_name", "reduceOptions": {"calcs": ["lastNotNull"]}}))
        }
        Picture::Curves => ("timeseries", json!({"legend": {"displayMode": "list", "placement": "bottom"}})),
    };
    json!({
        "id": id, "type": kind, "title": panel.title, "description": panel.about, "gridPos": place,
        "datasource": source(), "targets": targets, "options": options,
        "fieldConfig": {"defaults": defaults(panel), "overrides": []},
    })
}

/// Unit and colours. Curves keep their own colours and get a line where another range begins.
fn defaults(panel: &DashboardPanel) -> Value {
    let mut defaults = json!({"unit": panel.unit.name()});
    if !panel.limits.is_empty() {
        let green = json!({"color": "green", "value": null});
        let others = panel
            .limits
            .iter()
            .map(|PanelLimit { from, colour }| json!({"color": colour.name(), "value": from}));
        let steps: Vec<Value> = std::iter::once(green).chain(others).collect();
        defaults["thresholds"] = json!({"mode": "absolute", "steps": steps});
        defaults["custom"] = json!({"thresholdsStyle": {"mode": "line"}});
    }
    defaults
}
