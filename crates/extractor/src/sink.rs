//! Counts the tree builder's steps.
//!
//! The builder asks its sink for a name, or compares two handles, at every open element that it
//! inspects. So the calls to the sink measure its work exactly, and equally on every machine.

use crate::oversized_tags::MAX_ATTRIBUTES;
use crate::shadow;
use ego_tree::Tree;
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, QualName};
use scraper::{Html, HtmlTreeSink, Node};
use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};
use std::collections::HashSet;

/// Names a node of the tree.
pub(crate) type Handle = <HtmlTreeSink as TreeSink>::Handle;

/// scraper's sink, with a count of its calls.
pub(crate) struct CountingSink {
    sink: HtmlTreeSink,
    steps: Cell<u64>,
    attributes: Cell<usize>,
    attribute_bytes: Cell<usize>,
    /// Hosts, and the templates that are their shadow trees, in the order of the page.
    shadows: RefCell<Vec<(Handle, Handle)>>,
    hosts: RefCell<HashSet<Handle>>,
    /// Annotations of formulas that are HTML.
    annotations: RefCell<HashSet<Handle>>,
}

impl CountingSink {
    /// With room for so many nodes, which takes no memory before there are any. A tree that grows beyond is
    /// copied, so that it is in memory twice.
    pub(crate) fn with_room(nodes: usize) -> CountingSink {
        let tree = Tree::with_capacity(Node::Document, nodes);
        let html = Html { tree, ..Html::new_document() };
        CountingSink {
            sink: HtmlTreeSink::new(html),
            steps: Cell::new(0),
            attributes: Cell::new(0),
            attribute_bytes: Cell::new(0),
            shadows: RefCell::default(),
            hosts: RefCell::default(),
            annotations: RefCell::default(),
        }
    }

    /// Number of calls so far, plus nodes moved by them.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Attributes of all elements so far, also of those that were reopened.
    pub(crate) fn attributes(&self) -> usize {
        self.attributes.get()
    }

    /// Bytes of the attributes of all elements so far, also of those that were reopened.
    pub(crate) fn attribute_bytes(&self) -> usize {
        self.attribute_bytes.get()
    }

    /// The tree so far.
    pub(crate) fn html(&self) -> Ref<'_, Html> {
        self.sink.0.borrow()
    }

    fn count_attributes(&self, attrs: &[Attribute]) {
        let bytes: usize = attrs.iter().map(|attr| attr.name.local.len() + attr.value.len()).sum();
        self.attributes.set(self.attributes.get() + attrs.len());
        self.attribute_bytes.set(self.attribute_bytes.get() + bytes);
    }

    fn count(&self, steps: u64) {
        self.steps.set(self.steps.get() + steps);
    }
}

impl TreeSink for CountingSink {
    type Handle = Handle;
    type Output = Html;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Html {
        let mut html = self.sink.finish();
        for (host, template) in self.shadows.into_inner() {
            shadow::place(&mut html.tree, host, template);
        }
        html
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        self.sink.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> Ref<'a, QualName> {
        self.count(1);
        self.sink.elem_name(target)
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> Handle {
        self.count(1);
        self.count_attributes(&attrs);
        let is_annotation = flags.mathml_annotation_xml_integration_point;
        let element = self.sink.create_element(name, attrs, flags);
        if is_annotation {
            self.annotations.borrow_mut().insert(element);
        }
        element
    }

    fn is_mathml_annotation_xml_integration_point(&self, element: &Handle) -> bool {
        self.count(1);
        self.annotations.borrow().contains(element)
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        self.sink.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Handle {
        self.sink.create_pi(target, data)
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.count(1);
        self.sink.append(parent, child);
    }

    fn append_based_on_parent_node(&self, element: &Handle, previous: &Handle, child: NodeOrText<Handle>) {
        self.count(1);
        self.sink.append_based_on_parent_node(element, previous, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public_id: StrTendril, system_id: StrTendril) {
        self.sink.append_doctype_to_document(name, public_id, system_id);
    }

    fn get_template_contents(&self, target: &Handle) -> Handle {
        self.sink.get_template_contents(target)
    }

    fn attach_declarative_shadow(&self, host: &Handle, template: &Handle, _attrs: &[Attribute]) -> bool {
        let is_attached = shadow::may_host(&self.elem_name(host)) && self.hosts.borrow_mut().insert(*host);
        if is_attached {
            self.shadows.borrow_mut().push((*host, *template));
        }
        is_attached
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        self.count(1);
        self.sink.same_node(one, other)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.sink.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &Handle, node: NodeOrText<Handle>) {
        self.count(1);
        self.sink.append_before_sibling(sibling, node);
    }

    /// Each further tag of the root or the body adds attributes to it. Each is put into a sorted list, and selectors ask
    /// for them at every element inside, so there are at most as many as one tag may have.
    fn add_attrs_if_missing(&self, target: &Handle, mut attrs: Vec<Attribute>) {
        let count =
            |html: &Html| html.tree.get(*target)?.value().as_element().map(|element| element.attrs.len());
        let before = count(&self.html()).unwrap_or(0);
        attrs.truncate(MAX_ATTRIBUTES.saturating_sub(before));
        self.count(attrs.len() as u64);
        self.count_attributes(&attrs);
        self.sink.add_attrs_if_missing(target, attrs);
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.count(1);
        self.sink.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &Handle, parent: &Handle) {
        let children = self.html().tree.get(*node).map_or(0, |node| node.children().count());
        self.count(children as u64);
        self.sink.reparent_children(node, parent);
    }
}
